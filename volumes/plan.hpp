// SPDX-License-Identifier: Apache-2.0
#pragma once
// The decision how to run a convolution: method, blocks, padded sizes, bytes, predicted time.
// Planning is arithmetic: nothing large is allocated, no transform is run.

#include <string>
#include <vector>

#include "convolume/convolver.hpp"
#include "volumes/problem.hpp"

namespace convolume {

/// One block of a plan and the place of its data.
struct Task {
    std::array<AxisWindow, 3> windows;  ///< windows of the tile; of the undivided problem for parts
    PartId part;
    int block = 0;  ///< index into TaskPlan::blocks
};

/// A plan with the blocks and tasks that run it.
struct TaskPlan {
    ConvolutionProblem problem;
    PlanCandidate chosen;
    std::vector<PlanCandidate> candidates;  ///< all candidates, the chosen one among them
    std::vector<Block> blocks;              ///< distinct block sizes
    std::vector<Task> tasks;
    std::array<AxisWindow, 3> windows;  ///< windows of the undivided problem
    Shape3 scratch;  ///< planes (the grid along z), rows and columns of the split volume
    index_t scratch_bytes = 0;
    /// Whether kernels are kept between tasks and executions; not if the limit has no room.
    bool keep_kernels = true;
    std::vector<int> engine_indices;   ///< indices of the engines that the plan uses
    std::vector<std::string> engines;  ///< names of these engines
    index_t host_limit_bytes = 0;

    const Block& block_of(const Task& task) const {
        return blocks[static_cast<std::size_t>(task.block)];
    }
    /// Returns the plan as callers see it.
    Plan summary() const;
};

/// Chooses among the methods that `options` allows by predicted time on `engines` (at least one).
/// If the list holds CPU and GPU engines, the plan uses only one of the two kinds. Throws
/// Unavailable when no engine can run the method of `options`. Throws OutOfMemory, with the least
/// sufficient limit, when no candidate fits.
TaskPlan make_plan(const ConvolutionProblem& problem, const Options& options,
                   const EngineList& engines);

}  // namespace convolume
