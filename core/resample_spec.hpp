// SPDX-License-Identifier: Apache-2.0
#pragma once
// A resampling that is checked and complete, for the CPU and for GPUs.

#include <numeric>

#include "convolume/resample_options.hpp"
#include "core/engine.hpp"

namespace convolume {

/// The results repeat the same phases after a cycle of results, in which the signal advances by
/// whole samples.
struct ResampleSpec {
    ResampleOptions options;
    index_t taps = 1;
    bool complex_data = false;  ///< whether the signals are complex
    bool complex_taps = false;

    index_t taps_per_phase() const { return ceil_div(taps, options.up); }
    index_t cycle() const { return options.up / std::gcd(options.up, options.down); }
    index_t samples_per_cycle() const { return options.down / std::gcd(options.up, options.down); }
    /// Return the newest sample that result n reads, and the phase of its taps.
    index_t newest_sample(index_t n) const {
        return (n * options.down + options.origin) / options.up;
    }
    index_t phase(index_t n) const { return (n * options.down + options.origin) % options.up; }

    bool complex_results() const { return complex_data || complex_taps; }
    PixelType signal_type() const { return sample_type(options.precision, complex_data); }
    PixelType result_type() const { return sample_type(options.precision, complex_results()); }
};

/// Checks options and taps. Throws as the constructor of Resampler.
ResampleSpec checked_resample_spec(const ConstImageView& taps, const ResampleOptions& options,
                                   PixelType signal_type);

/// Samples first … first + samples.shape.x - 1 of signals, before and after which they continue by
/// an extension.
struct ResampledSignals {
    ConstImageView samples;
    index_t first = 0;
};

/// A resampling that is prepared for one device.
class PreparedResampling {
  public:
    virtual ~PreparedResampling() = default;
    /// Computes the results from `first_result` on, as many as `results` has.
    virtual void resample(const ResampledSignals& signals, index_t first_result,
                          const ImageView& results, int threads,
                          const ExecutionContext& context) const = 0;
};

}  // namespace convolume
