// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a radix stage of a transform of columns reads and writes.

#include "cpu/fft/column_fft.hpp"

namespace convolume::cpu {

/// The place of the results of a radix stage: in a tile that the next stage reads, in the columns
/// of the target, in a line of the target, or in the tile of the target.
enum class StageTarget { next_stage, columns, line, tile };

/// The place of the samples that a stage reads (columns of the source, or a tile) and of its
/// results.
struct StageCase {
    bool from_columns;
    StageTarget target;
};
/// The same, known to the compiler.
template <bool reads_columns, StageTarget stored>
struct FixedCase {
    static constexpr bool from_columns = reads_columns;
    static constexpr StageTarget target = stored;
};

/// A radix stage: `s` results of earlier stages lie side by side, and length `m` remains after the
/// stage. Only first stages read columns.
template <class Real>
struct RadixStage {
    const ColumnTransform<Real>& transform;
    StageCase stage_case;
    index_t s, m;
    const Real* twiddles;
    const Real* from;
    Real* to;
};

}  // namespace convolume::cpu
