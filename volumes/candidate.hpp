// SPDX-License-Identifier: Apache-2.0
#pragma once
// One way to run a problem: how it is cut into blocks, and what it takes. Bytes are exact, seconds
// come from the engines' models and the rates of the machine. The planner compares candidates.

#include <optional>
#include <vector>

#include "volumes/plan.hpp"

namespace convolume {

/// One axis cut into tiles that share a grid length.
struct AxisTiling {
    index_t grid = 1;
    std::vector<AxisWindow> windows;

    index_t count() const { return static_cast<index_t>(windows.size()); }
    /// Sizes no tile exceeds: what memory and time are predicted for.
    BlockAxis largest() const;
};

/// Inputs of the choice of grid lengths along one axis.
struct GridRule {
    const Engine* engine;  ///< null: sums in space, any length will do
    int axis;
    int parts = 1;
    bool complex_data = false;
    Precision precision = Precision::float32;
    bool may_be_periodic = true;  ///< a wrap boundary may be the grid's own period
};

/// Cuts the outputs of one axis into `count` tiles of equal size (to within one).
AxisTiling tile_axis(const AxisProblem& problem, index_t count, const GridRule& rule);

/// A way to run the problem: tiles, or one tile split into parts.
struct Layout {
    Method method = Method::in_core;
    Algorithm algorithm = Algorithm::fft;
    int parts = 1;
    bool walks = false;
    std::array<AxisTiling, 3> axes;

    Index3 tiles() const { return {axes[0].count(), axes[1].count(), axes[2].count()}; }
};

/// The block of `part` (of the layout's parts) whose undivided axes are `axes`.
Block part_block(const ConvolutionProblem& problem, const Layout& layout, int part,
                 const std::array<BlockAxis, 3>& axes);

/// Planes, rows and columns of the split volume; {0, 0, 0} where nothing is split.
Shape3 scratch_shape(const ConvolutionProblem& problem, const Layout& layout);
index_t scratch_bytes(const ConvolutionProblem& problem, const Layout& layout);

/// Fills plan.blocks, plan.tasks, plan.windows and the scratch volume.
void lay_out(const ConvolutionProblem& problem, const Layout& layout, TaskPlan& plan);

/// Bytes that a plan may take.
struct MemoryLimits {
    index_t host_bytes = 0;
    std::optional<index_t> engine_bytes;  ///< the least of the engines' limits
};

/// The blocks of a way to run a problem.
struct BlockDivision {
    Method method = Method::in_core;
    Algorithm algorithm = Algorithm::fft;
    int parts = 1;
    Index3 tiles;
    Shape3 grid;
    Shape3 scratch;             ///< of the split volume
    index_t scratch_bytes = 0;  ///< of the same
    Block first;                ///< part 0, or the largest tile
    Block other;                ///< all further parts
};

struct Prediction {
    PlanCandidate candidate;
    bool keep_kernels = true;  ///< between tasks and executions; false: the limit has no room
};

/// Predicts one way to run `problem` on `engines`, which are of one kind.
Prediction predict(const ConvolutionProblem& problem, const EngineList& engines,
                   const MemoryLimits& limits, const BlockDivision& division);

}  // namespace convolume
