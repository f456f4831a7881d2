// SPDX-License-Identifier: Apache-2.0
#pragma once
// Objectives by the names that are engraved on them.

#include <optional>
#include <string>
#include <string_view>

namespace convolume::cli {

struct NamedObjective {
    double magnification;
    double na;
    double ni;
};

/// "60x/1.4 oil": magnification, NA and immersion medium, which may be left out in air. Capitals
/// and spaces do not matter. Throws InvalidArgument that names `option`.
NamedObjective parse_objective(std::string_view option, std::string_view text);

/// A line for each of the common ones, and the media.
std::string list_of_objectives();

/// The index of OME's "Oil", "WaterDipping", … and of the media of parse_objective(); nothing for
/// other words.
std::optional<double> index_of_immersion(std::string_view medium);

}  // namespace convolume::cli
