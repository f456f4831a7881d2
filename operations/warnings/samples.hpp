// SPDX-License-Identifier: Apache-2.0
#pragma once
// Warnings of samples that a run changed.

#include <string>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume {

/// Samples that a run changed, and how users name what it concerns.
struct ChangedSamples {
    index_t clamped_low = 0;       ///< results below the range of their type; NaN counts here
    index_t clamped_high = 0;      ///< results above it
    std::string type;              ///< type of the results
    std::string type_option;       ///< what users choose it by, such as "--output-type"
    index_t nonfinite_inputs = 0;  ///< NaN and infinities of the input that were read as 0
    std::string input = "image";   ///< "image" or "signal"
};

/// Returns what a user should know of changed samples; nothing if there are none.
std::vector<std::string> changed_samples_warnings(const ChangedSamples& changed);

}  // namespace convolume
