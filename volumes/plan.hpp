// SPDX-License-Identifier: Apache-2.0
#pragma once
// The decision how to run a convolution: method, blocks, padded sizes, bytes, predicted time.
// Planning is arithmetic: nothing large is allocated, no transform is run.

#include <string>
#include <vector>

#include "convolume/convolver.hpp"
#include "volumes/problem.hpp"

namespace convolume {

/// One block of a plan and where its data are.
struct Task {
    std::array<AxisWindow, 3> windows;  ///< of tiles; of the undivided problem for parts
    PartId part;
    int block = 0;  ///< index into TaskPlan::blocks
};

/// A plan with all that it takes to run it.
struct TaskPlan {
    ConvolutionProblem problem;
    PlanCandidate chosen;
    std::vector<PlanCandidate> candidates;  ///< all that were weighed, the chosen one among them
    std::vector<Block> blocks;              ///< distinct block sizes
    std::vector<Task> tasks;
    std::array<AxisWindow, 3> windows;  ///< of the undivided problem
    Shape3 scratch;  ///< of Method::dif: planes of the split volume (z = grid length)
    index_t scratch_bytes = 0;
    bool keep_kernels = true;  ///< between tasks and executions; false: the limit has no room
    std::vector<int> engine_indices;   ///< those of the list that take part
    std::vector<std::string> engines;  ///< their names
    index_t host_limit_bytes = 0;

    const Block& block_of(const Task& task) const {
        return blocks[static_cast<std::size_t>(task.block)];
    }
    /// The plan as callers see it.
    Plan summary() const;
};

/// Chooses among the methods `options` allows by predicted time on `engines` (at least one). Where
/// the list holds CPU and GPU engines, either kind is weighed by itself and one of them chosen.
/// Throws Unavailable when no engine can run the method asked for; OutOfMemory, naming the least
/// limit that would do, when nothing fits.
TaskPlan make_plan(const ConvolutionProblem& problem, const Options& options,
                   const EngineList& engines);

}  // namespace convolume
