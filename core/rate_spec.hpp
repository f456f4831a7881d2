// SPDX-License-Identifier: Apache-2.0
#pragma once
// A conversion between any sampling rates that is checked and complete: its filter, and the
// interface of engines.

#include <cstdint>
#include <vector>

#include "convolume/options.hpp"
#include "core/resample_spec.hpp"

namespace convolume {

/// The time of a result: that of sample `whole`, plus fraction / 2^64 of the distance to the next
/// sample.
struct SamplePosition {
    index_t whole = 0;
    std::uint64_t fraction = 0;
};

/// A low-pass filter as a function of time. A result at sample i + τ, 0 ≤ τ < 1, reads the samples
/// i - half + 1 … i + half. In each of `pieces` equal parts of [0, 1), every tap is a cubic
/// polynomial in u, which grows from -1 to 1 there.
struct RateFilter {
    index_t half = 1;
    index_t pieces = 1;
    std::vector<double> coefficients;  ///< [piece][tap, of the oldest sample first][power of u]
    bool complex_data = false;         ///< whether the signals are complex
    Precision precision = Precision::float32;

    static constexpr index_t powers = 4;
    index_t taps() const { return 2 * half; }
    PixelType result_type() const { return sample_type(precision, complex_data); }
};

/// A conversion between sampling rates that is prepared for one device. Signals are zero beyond
/// their ends.
class PreparedRateConversion {
  public:
    virtual ~PreparedRateConversion() = default;
    /// Computes the results at ascending positions, as many as `results` has.
    virtual void convert(const ResampledSignals& signals, const SamplePosition* positions,
                         const ImageView& results, int threads,
                         const ExecutionContext& context) const = 0;
};

}  // namespace convolume
