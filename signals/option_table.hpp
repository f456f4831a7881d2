// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of the options of FilterBank, Channelizer and CorrelationBank (core/option_table.hpp).

#include "convolume/channelizer.hpp"
#include "core/option_table.hpp"
#include "signals/option_names.hpp"

namespace convolume {

/// Returns the value as --help shows it.
inline std::string option_value_text(const FilterOrigin& origin) {
    const bool given = origin.kind == FilterOrigin::Kind::explicit_;
    return given ? option_value_text(origin.index) : name_of(origin.kind);
}
/// Returns nothing: --help does not show the default.
inline std::string option_value_text(const SampleRange&) {
    return "";
}

template <>
inline constexpr auto option_table<FilterOptions> = std::tuple{
    option<&FilterOptions::mode>("mode", "--mode", "", "Size of the result", {}, parse_mode),
    option<&FilterOptions::range>("range", "--range", "A:B",
                                  "Samples A to B-1 of the full result, instead of a mode",
                                  {.keyword = "span"},
                                  [](std::string_view text) -> std::optional<SampleRange> {
                                      return parse_sample_range(text);
                                  }),
    option<&FilterOptions::origin>("origin", "--origin", "center|causal|anticausal|N",
                                   "Index of the tap that is aligned with the result's sample",
                                   {.remark = ": (M-1)/2"}, parse_filter_origin),
    option<&FilterOptions::post>(
        "post", "--post", "",
        "Function applied to each sample of the result: power is |y|², derivative is (y[n+1] - "
        "y[n-1]) / 2",
        {}, parse_point_post),
    option<&FilterOptions::window>(
        "window", "--window", "none|decimate:W|peak:W",
        "Store one of every W samples: the first (decimate) or the largest (peak)",
        {.remark = ": all"}, parse_window_post),
    option<&FilterOptions::nan>("nan", "--nan", "error|zero|propagate",
                                "Treatment of NaN and infinities in the signal", {},
                                parse_nan_policy),
    option<&FilterOptions::method>("method", "--method", "", "Method of computation",
                                   {.remark = ": the fastest predicted method"},
                                   parse_filter_method),
    option<&FilterOptions::segment>("segment", "--segment", "N", "Length of the transforms",
                                    {.if_unset = "chosen automatically"}),
    option<&FilterOptions::precision>("precision", "--precision", "",
                                      "Precision of the computation and the result", {},
                                      parse_precision),
    option<&FilterOptions::chunk>(
        "chunk", "--chunk", "N", "Results computed and written at a time",
        {.keyword = nullptr,
         .if_unset = "chosen automatically; 65536 from standard input, or four times the taps"}),
    option<&FilterOptions::max_host_bytes>(
        "max_host_bytes", "--max-host-mem", "SIZE",
        "Limit of host memory for buffers that read, filter and write",
        {.keyword = nullptr, .if_unset = "a quarter of free memory", .quantity = Quantity::bytes}),
    option<&FilterOptions::signal_storage>(
        "signal_storage", "", "", "Storage of the signals in memory", {}, parse_sample_storage),
    option<&FilterOptions::result_storage>(
        "result_storage", "", "", "Storage of the results in memory", {}, parse_sample_storage),
    option<&FilterOptions::signal_scale>(
        "signal_scale", "", "X", "Value of one step of int16 signals", {.range = "above 0"}),
    option<&FilterOptions::result_scale>(
        "result_scale", "", "X", "Value of one step of int16 results", {.range = "above 0"}),
};

template <>
inline constexpr auto option_table<ChannelizerOptions> = std::tuple{
    option<&ChannelizerOptions::channels>("channels", "--channels", "M", "Number of channels",
                                          {.keyword = nullptr, .hides_default = true}),
    option<&ChannelizerOptions::taps_per_channel>("taps_per_channel", "--taps", "P",
                                                  "Taps of the prototype for each channel"),
    option<&ChannelizerOptions::step>("step", "--step", "D",
                                      "Samples from frame to frame: oversampled if less than M",
                                      {.if_unset = "M, critically sampled"}),
    option<&ChannelizerOptions::first>(
        "first", "--first", "T", "Sample that frame 0 ends with, from 0", {}, parse_first_sample),
    option<&ChannelizerOptions::window>(
        "window", "--window", "hamming|hann|kaiser:BETA|rectangular",
        "Window of the prototype, a sinc", {}, parse_prototype_window),
    option<&ChannelizerOptions::interleaved>(
        "interleaved", "", "true|false", "Whether real numbers are pairs: real and imaginary part"),
    option<&ChannelizerOptions::precision>("precision", "--precision", "",
                                           "Precision of the computation and the result", {},
                                           parse_precision),
    option<&ChannelizerOptions::nan>("nan", "--nan", "error|zero|propagate",
                                     "Treatment of NaN and infinities in the signal", {},
                                     parse_nan_policy),
};

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
