// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a radix stage of a transform of columns reads and writes.

#include "cpu/fft/column_fft.hpp"

namespace convolume::cpu {

/// A radix stage: `s` results of earlier stages lie side by side, and length `m` remains after the
/// stage. A first stage reads the source of `transform`, a last one writes its target.
template <class Real>
struct RadixStage {
    const ColumnTransform<Real>& transform;
    bool first, last;
    index_t s, m;
    const Real* twiddles;
    const Real* from;
    Real* to;
};

/// Where a radix stage stores its results: in a tile that the next stage reads, in the columns of
/// the target, in a line of the target, or in the tile of the target.
enum class StageTarget { next_stage, columns, line, tile };

}  // namespace convolume::cpu
