// SPDX-License-Identifier: Apache-2.0
#pragma once
// The decision how to run a convolution: method, blocks, padded sizes, bytes, predicted time.
// Planning is arithmetic: nothing large is allocated, no transform is run.

#include <string>
#include <vector>

#include "convolume/convolver.hpp"
#include "core/engine.hpp"
#include "volumes/axis.hpp"

namespace convolume {

/// What is to be convolved; fixed while a plan lives. The operation is already resolved: the
/// kernel here is the one of a plain convolution.
struct Problem {
    Shape3 image;                                ///< extents of the image
    Shape3 kernel;                               ///< extents of the kernel
    PixelType image_type = PixelType::float32;   ///< decides host bytes only
    PixelType output_type = PixelType::float32;  ///< decides host bytes only
    index_t other_host_bytes = 0;  ///< further memory of an execution, beyond image and output
    bool streamed = false;         ///< image and output are read and written box by box
    /// What a stream gives and takes; 0: what the engines' rates say of files.
    double source_bytes_per_s = 0;
    double sink_bytes_per_s = 0;
    index_t executions = 0;     ///< volumes to come; 0: many
    double start_s = 0;         ///< that the engines took to start, whatever is chosen
    bool complex_data = false;  ///< complex image or complex kernel
    bool complex_kernel = false;
    bool rank1_kernel = false;
    Precision precision = Precision::float32;
    BoundaryKind boundary = BoundaryKind::zero;
    Box3 output;  ///< outputs wanted, in the coordinates of `full`

    AxisProblem axis(int a) const {
        return {image[a], kernel[a], boundary, output.begin[a], output.end[a]};
    }
};

/// One block of a plan and where its data are.
struct Task {
    std::array<AxisWindow, 3> windows;  ///< of tiles; of the undivided problem for parts
    PartId part;
    int block = 0;  ///< index into TaskPlan::blocks
};

/// A plan with all that it takes to run it.
struct TaskPlan {
    Problem problem;
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

    /// What callers see of it.
    Plan summary() const;
};

/// Chooses among the methods `options` allows by predicted time on `engines` (at least one). Where
/// the list holds CPU and GPU engines, either kind is weighed by itself and one of them chosen.
/// Throws Unavailable when no engine can run the method asked for; OutOfMemory, naming the least
/// limit that would do, when nothing fits.
TaskPlan make_plan(const Problem& problem, const Options& options, const EngineList& engines);

}  // namespace convolume
