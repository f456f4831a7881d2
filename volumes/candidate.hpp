// SPDX-License-Identifier: Apache-2.0
#pragma once
// A candidate for the plan of a problem: the blocks that it is cut into, and the bytes and seconds
// that it takes. Bytes are exact, seconds come from the engines' models and the rates of the
// machine. The planner compares candidates.

#include <optional>
#include <vector>

#include "volumes/plan.hpp"

namespace convolume {

/// One axis cut into tiles that share a grid length.
struct AxisTiling {
    index_t grid = 1;
    std::vector<AxisWindow> windows;

    index_t count() const { return static_cast<index_t>(windows.size()); }
    /// Returns sizes that no tile exceeds. Memory and time are predicted for them.
    BlockAxis largest() const;
};

/// Inputs of the choice of grid lengths along one axis.
struct GridRule {
    const Engine* engine;  ///< null for direct and separable sums, which any length suits
    int axis;
    int parts = 1;
    bool complex_data = false;
    Precision precision = Precision::float32;
    bool may_be_periodic = true;  ///< whether the grid may be one period of a wrap boundary
};

/// Cuts the outputs of one axis into `count` tiles of equal size (to within one).
AxisTiling tile_axis(const AxisProblem& problem, index_t count, const GridRule& rule);

/// The tiles of a candidate, or the one tile that is split into parts.
struct CandidateLayout {
    Method method = Method::in_core;
    Algorithm algorithm = Algorithm::fft;
    int parts = 1;
    bool walks = false;
    std::array<AxisTiling, 3> axes;

    Index3 tiles() const { return {axes[0].count(), axes[1].count(), axes[2].count()}; }
};

/// Returns the block of part number `part`. `axes` are those of the undivided tile.
Block part_block(const ConvolutionProblem& problem, const CandidateLayout& layout, int part,
                 const std::array<BlockAxis, 3>& axes);

/// Returns the planes, rows and columns of the split volume, {0, 0, 0} without parts.
Shape3 scratch_shape(const ConvolutionProblem& problem, const CandidateLayout& layout);
index_t scratch_bytes(const ConvolutionProblem& problem, const CandidateLayout& layout);

/// Fills plan.blocks, plan.tasks, plan.windows and the size of the split volume.
void fill_task_plan(const ConvolutionProblem& problem, const CandidateLayout& layout,
                    TaskPlan& plan);

/// Bytes that a plan may take.
struct MemoryLimits {
    index_t host_bytes = 0;
    std::optional<index_t> engine_bytes;  ///< smallest limit of any engine; none without limits
};

/// Sizes of the blocks of a candidate.
struct BlockDivision {
    Method method = Method::in_core;
    Algorithm algorithm = Algorithm::fft;
    int parts = 1;
    Index3 tiles;
    Shape3 grid;
    Shape3 scratch;             ///< planes, rows and columns of the split volume
    index_t scratch_bytes = 0;  ///< bytes of the split volume
    Block first;                ///< part 0, or the largest tile
    Block other;                ///< parts 1, 2, …, which have equal blocks
};

/// Predicts memory and time of a candidate on `engines`, which are of one kind.
PlanCandidate predict(const ConvolutionProblem& problem, const EngineList& engines,
                      const MemoryLimits& limits, const BlockDivision& division);

}  // namespace convolume
