// SPDX-License-Identifier: Apache-2.0
#pragma once
// The filter of conversions between any sampling rates.

#include "convolume/rate_converter.hpp"
#include "core/rate_spec.hpp"

namespace convolume {

/// Returns options whose lowest ratio is set. Throws InvalidArgument for options that are out of
/// range.
RateOptions checked_rate_options(RateOptions options);

/// Throws InvalidArgument for a ratio that is out of range or below the lowest one. The message
/// names the sample unless that is negative.
void check_ratio(double ratio, double lowest, index_t sample = -1);

/// Designs the filter for options that are checked.
RateFilter design_rate_filter(const RateOptions& options, bool complex_data);

}  // namespace convolume
