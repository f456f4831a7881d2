// SPDX-License-Identifier: Apache-2.0
#pragma once
// The vector loops of polyphase filter banks, dispatched at run time to the processor's best
// instructions.

#include "convolume/shape.hpp"

namespace convolume::cpu {

/// Largest number of frames that add_taps() sums at once.
inline constexpr int frames_at_once = 8;

/// Real numbers in a block of phases: a line of the cache.
template <class Real>
inline constexpr index_t phase_block = 64 / static_cast<index_t>(sizeof(Real));

/// Sums over the taps of every phase:
///     targets[f][j] = Σ_q taps[j, q] window[q·row + f·frame + j]
/// for `frames` frames f and `blocks` blocks of phases j. The taps of a block are together: those
/// of q = 0, then those of q = 1, ….
template <class Real>
struct PhaseSums {
    const Real* taps;
    index_t terms;  ///< number of taps q of each phase
    const Real* window;
    index_t row, frame;
    index_t blocks;
    Real* targets[frames_at_once];
    int frames;
};
void sum_phases(const PhaseSums<float>& sums);
void sum_phases(const PhaseSums<double>& sums);

/// Adds taps[i] · values[i] to sum[i].
void add_products(const float* taps, const float* values, float* sum, index_t count);
void add_products(const double* taps, const double* values, double* sum, index_t count);

}  // namespace convolume::cpu
