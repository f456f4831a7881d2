// SPDX-License-Identifier: Apache-2.0
#include "operations/warnings/samples.hpp"

#include "convolume/error.hpp"

namespace convolume {

std::vector<std::string> changed_samples_warnings(const ChangedSamples& changed) {
    std::vector<std::string> warnings;
    if (changed.clamped_low > 0 || changed.clamped_high > 0)
        warnings.push_back(message(
            changed.clamped_low, " values below and ", changed.clamped_high, " above the range of ",
            changed.type, " were clamped; choose a wider ", changed.type_option, " to keep them"));
    if (changed.nonfinite_inputs > 0)
        warnings.push_back(message(changed.nonfinite_inputs, " NaN or infinite values of the ",
                                   changed.input, " were read as 0"));
    return warnings;
}

}  // namespace convolume
