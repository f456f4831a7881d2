// SPDX-License-Identifier: Apache-2.0
#pragma once
// The vector loops of resampling, dispatched at run time to the processor's best instructions.

#include "convolume/shape.hpp"

namespace convolume::cpu {

/// Taps of a cycle of results, result after result, in the order in which they meet samples: the
/// last tap of a phase first. Zeros before them fill up vectors.
template <class Real>
struct PolyphaseTaps {
    const Real* taps = nullptr;  ///< taps [result of the cycle][padded_taps]
    index_t padded_taps = 1;     ///< taps of a result: a multiple of polyphase_lanes()
    index_t padding = 0;         ///< zeros among them, fewer than polyphase_lanes()
    index_t cycle = 1;
    index_t samples_per_cycle = 1;
    /// Newest sample of the results of a cycle and of the next few, relative to that of result 0,
    /// and begin of their taps.
    const index_t* newest = nullptr;
    const index_t* begin = nullptr;
};

/// Returns the number of samples in a vector.
index_t polyphase_lanes(float);
index_t polyphase_lanes(double);
/// Results that are computed together: how far `newest` and `begin` reach beyond a cycle.
inline constexpr index_t most_polyphase_results = 16;

/// Computes `count` results from result `first` of a cycle on, or adds them to `out`. samples[0] is
/// the first of the padded_taps samples of the first result. Padded samples are not used, so that
/// NaN in them do not matter. A result has the same bits in every call.
void sum_phases(const PolyphaseTaps<float>& phases, index_t first, const float* samples,
                bool accumulate, float* out, index_t count);
void sum_phases(const PolyphaseTaps<double>& phases, index_t first, const double* samples,
                bool accumulate, double* out, index_t count);

/// Computes the taps of `count` results from cubic polynomials, one for each tap. pieces[n] has the
/// four coefficients of result n, from the constant one on, as rows of `padded_taps`: a multiple of
/// polyphase_lanes(). places[n] is the polynomials' argument. `out` has a row for each result.
void interpolate_taps(const float* const* pieces, const float* places, index_t padded_taps,
                      float* out, index_t count);
void interpolate_taps(const double* const* pieces, const double* places, index_t padded_taps,
                      double* out, index_t count);

}  // namespace convolume::cpu
