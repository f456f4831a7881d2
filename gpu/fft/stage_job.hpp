// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a kernel over rows with a stage is told.

#include "gpu/fft/row_job.hpp"

namespace convolume::gpu {

/// Each has a kernel of its own: a forward transform, an inverse and a forward one, an inverse one,
/// again an inverse and a forward one.
enum class StageWork { load, compare, step, advance };
inline constexpr int stage_works = 4;

constexpr StageWork work_of(RowStage::Kind kind) {
    switch (kind) {
        case RowStage::Kind::ratio:
            return StageWork::compare;
        case RowStage::Kind::step:
            return StageWork::step;
        case RowStage::Kind::advance:
            return StageWork::advance;
        default:
            return StageWork::load;
    }
}

/// Arrays that stages of a work read.
inline constexpr int most_stage_arrays = 4;
constexpr int most_arrays(StageWork work) {
    return work == StageWork::step ? most_stage_arrays : 2;
}

/// Arrays that a stage reads and its kernel has places for, the first ones of its work.
constexpr int used_arrays(const RowStage& stage) {
    switch (work_of(stage.kind)) {
        case StageWork::load:
            return stage.before == nullptr ? 1 : 2;
        case StageWork::compare:
            return stage.held == nullptr ? 1 : 2;
        case StageWork::step:
            return stage.change != nullptr ? 4 : stage.before != nullptr ? 3 : 2;
        case StageWork::advance:
            return 2;
    }
    return 0;
}

/// Rows of a pass: the kernel counts them in 32 bits.
inline constexpr index_t most_stage_rows = index_t{1} << 30;

struct StageJob {
    RowJob<float> rows;  ///< of no pixels
    RowStage stage;
    double* sums = nullptr;  ///< two a block; null: none are wanted
};

/// The job of stage_rows (passes.hpp), less its tables.
inline StageJob stage_job(const RowStage& stage, index_t planes,
                          const SpectrumPlanes<float>& spectrum, double scale, double* sums) {
    if (checked_multiply(planes, stage.rows) > most_stage_rows)
        throw GpuUnavailable(
            message(planes, " planes of ", stage.rows, " rows are too many for one pass on a GPU"));
    StageJob job;
    job.rows = row_job(false, PixelRows{}, planes, spectrum);
    job.rows.rows = stage.rows;
    job.rows.scale = static_cast<float>(scale);
    job.stage = stage;
    job.sums = sums;
    return job;
}

}  // namespace convolume::gpu
