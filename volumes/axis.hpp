// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic of one axis: which samples are loaded on a circular grid, where the kernel lies,
// and which grid positions are kept. Every method (in-core, parts, tiles, direct) is made of it.
//
// For the outputs n in [out_begin, out_end) of full[n] = sum_j h[j] f(n-j), the samples f(i) for i
// in [load_begin, load_end) stand at grid positions i - load_begin, the kernel samples j in
// [kernel_begin, kernel_end) at positions j - kernel_begin. Output n is then found at position
// n - load_begin - kernel_begin of the circular convolution of length `grid`, free of aliases.

#include <vector>

#include "convolume/options.hpp"
#include "core/engine.hpp"

namespace convolume {

/// One axis of a convolution.
struct AxisProblem {
    index_t image = 1;   ///< extent of the image
    index_t kernel = 1;  ///< extent of the kernel
    BoundaryKind boundary =
        BoundaryKind::zero;  ///< `constant` counts as zero: f - v has a zero boundary
    index_t out_begin = 0;   ///< outputs wanted, in the coordinates of `full`
    index_t out_end = 1;
};

struct AxisWindow {
    index_t grid = 1;
    index_t load_begin = 0;
    index_t load_end = 1;
    index_t kernel_begin = 0;
    index_t kernel_end = 1;
    index_t out_begin = 0;
    index_t out_end = 1;

    index_t loaded() const { return load_end - load_begin; }
    index_t kernel() const { return kernel_end - kernel_begin; }
    index_t kept() const { return out_end - out_begin; }
    /// Grid position of output out_begin.
    index_t kept_begin() const { return out_begin - load_begin - kernel_begin; }
    friend bool operator==(const AxisWindow&, const AxisWindow&) = default;
};

BlockAxis block_axis(const AxisWindow& window);

/// Kernel samples that can reach an output of `problem`: all others multiply zeros.
AxisWindow trim_kernel(const AxisProblem& problem);

/// The window for outputs [begin, end) within the problem's outputs, with the kernel trimmed for
/// the whole problem (so that tiles share one kernel) and `grid` the least alias-free length.
/// With `periodic_grid`, and only for a wrap boundary whose outputs and kernel fit one period, the
/// grid is the image's own length and the circular convolution wraps as the boundary does.
AxisWindow axis_window(const AxisProblem& problem, index_t begin, index_t end,
                       bool periodic_grid = false);

/// Source index in [0, image) of sample i, or -1 where it is zero.
index_t source_index(index_t i, index_t image, BoundaryKind boundary);

/// Source indices of the loaded samples load_begin … load_end-1.
std::vector<index_t> gather_indices(const AxisWindow& window, index_t image, BoundaryKind boundary);

/// Outputs of `mode` in the coordinates of `full`: {begin, end}; throws InvalidArgument when
/// `valid` has none.
struct OutputRange {
    index_t begin;
    index_t end;
};
OutputRange output_range(Mode mode, index_t image, index_t kernel, index_t center);

}  // namespace convolume
