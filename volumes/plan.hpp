// SPDX-License-Identifier: Apache-2.0
#pragma once
// The decision how to run a convolution: method, blocks, padded sizes, bytes, predicted time.
// Planning is arithmetic: nothing large is allocated, no transform is run.

#include <string>
#include <vector>

#include "convolume/convolver.hpp"
#include "core/engine.hpp"
#include "decompose/part.hpp"
#include "volumes/problem.hpp"

namespace convolume {

/// One run of a block: its windows, or its part of the split volume.
struct Task {
    /// Samples to load, taps to use and outputs to keep along each axis: those of the tile, or for
    /// a part those of the undivided problem.
    std::array<AxisWindow, 3> windows;
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
    /// Samples to load, taps to use and outputs to keep along each axis of the undivided problem.
    std::array<AxisWindow, 3> windows;
    Shape3 scratch;  ///< split volume: planes (the length of the grid along z), rows, columns
    index_t scratch_bytes = 0;
    std::vector<int> engine_indices;   ///< indices of the engines that the plan uses
    std::vector<std::string> engines;  ///< names of the devices' engines that the plan uses
    index_t host_limit_bytes = 0;

    const Block& block_of(const Task& task) const {
        return blocks[static_cast<std::size_t>(task.block)];
    }
    /// Returns the public description of the plan.
    Plan summary() const;
};

/// Chooses among the methods that `options` allows by predicted time on `engines` (at least one).
/// If the list holds engines of the CPU, of GPUs and joined ones, the plan uses only one of these
/// kinds. Throws Unavailable when no engine can run the method of `options`. Throws OutOfMemory,
/// with the least sufficient limit, when no candidate fits.
TaskPlan make_plan(const ConvolutionProblem& problem, const Options& options,
                   const EngineList& engines);

}  // namespace convolume
