// SPDX-License-Identifier: Apache-2.0
#pragma once
// The filters of conversions between any sampling rates.
//
// A filter whose taps change from result to result costs several operations for each tap. So a
// sharp filter of fixed taps comes first, which leaves the signal at a rate of at least about twice
// that of the results. Between such samples, a few taps interpolate. Where the rate falls far,
// short filters halve it before the sharp one.

#include "convolume/rate_converter.hpp"
#include "core/rate_spec.hpp"

namespace convolume {

/// A step from one rate to `up` / `down` times that rate. The filter has no delay: its middle tap
/// is its origin.
struct RateStage {
    index_t up = 1, down = 1;
    std::vector<double> taps;
};

/// Stages, and the filter that interpolates between the samples of the last one.
struct RatePlan {
    std::vector<RateStage> stages;
    int doublings = 0;  ///< the stages multiply the rate by 2^doublings
    RateFilter filter;
    index_t half = 1;  ///< samples of the signal that a result reads before and after its time
    /// Number of zeros before a signal that results read: at least `half`, and a multiple of the
    /// factor by which the stages lower the rate.
    index_t silence = 0;
};

/// Returns options whose lowest ratio is set. Throws InvalidArgument for options that are out of
/// range.
RateOptions checked_rate_options(RateOptions options);

/// Throws InvalidArgument for a ratio that is out of range or below the lowest one. The message
/// names the sample unless that is negative.
void check_ratio(double ratio, double lowest, index_t sample = -1);

/// Designs the filters for options that are checked. Of the numbers of stages, it takes the one
/// with the fewest operations for a sample.
RatePlan plan_rates(const RateOptions& options, bool complex_data);

}  // namespace convolume
