// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table of the options of CorrelationBank, and the names of their values.

#include "convolume/correlation.hpp"
#include "core/option_table.hpp"

namespace convolume {

template <>
inline constexpr auto names_of<PeakPosition> =
    std::to_array<NamedValue<PeakPosition>>({{"sample", PeakPosition::sample},
                                             {"parabola", PeakPosition::parabola},
                                             {"interpolated", PeakPosition::interpolated}});

template <>
inline constexpr auto option_table<CorrelationOptions> = std::tuple{
    option<&CorrelationOptions::noise>(
        "noise", "--noise", "SIGMA",
        "Standard deviation of the noise; of complex noise, the root of the mean of |noise|²",
        {.range = "above 0", .if_unset = "1, or estimated"}),
    option<&CorrelationOptions::noise_block>(
        "noise_block", "--noise-block", "N",
        "Estimate the level of the noise in blocks of N samples, by their median",
        {.range = "from 16", .if_unset = "one level"}),
    option<&CorrelationOptions::threshold>("threshold", "--threshold", "SNR",
                                           "Smallest SNR of a peak", {.range = "above 0"}),
    option<&CorrelationOptions::window>(
        "window", "--window", "W", "Positions of which the strongest can be a peak",
        {.range = "from 1", .if_unset = "the samples of the longest template"}),
    option<&CorrelationOptions::position>(
        "position", "--position", "",
        "Place of a peak: a sample, the vertex of a parabola, or the largest interpolated value",
        {}, parse_peak_position),
    option<&CorrelationOptions::per_template>("per_template", "", "true|false",
                                              "Whether each template has peaks of its own"),
};

}  // namespace convolume
