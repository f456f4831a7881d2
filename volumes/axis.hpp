// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic of one axis: which samples are loaded on a circular grid, where the kernel lies,
// and which grid positions are kept. Every method (in-core, parts, tiles, direct) uses it.
//
// The mode `full` has the outputs
//   full[n] = Σ_j h[j] f(n-j).
// Let outputs n in [out_begin, out_end) be wanted. Samples f(i) for i in [load_begin, load_end) are
// put at grid positions i - load_begin, taps j in [kernel_begin, kernel_end) at positions
// j - kernel_begin. Output n is then at position n - load_begin - kernel_begin of the circular
// convolution of length `grid`, free of aliases.

#include <vector>

#include "convolume/options.hpp"
#include "core/engine.hpp"

namespace convolume {

/// One axis of a convolution.
struct AxisProblem {
    index_t image = 1;                           ///< extent of the image
    index_t kernel = 1;                          ///< extent of the kernel
    BoundaryKind boundary = BoundaryKind::zero;  ///< a constant boundary counts as zero
    index_t out_begin = 0;                       ///< outputs wanted, in coordinates of mode full
    index_t out_end = 1;

    /// Whether the boundary wraps and outputs and kernel fit one period, so that the grid may have
    /// the length of the image.
    bool may_have_periodic_grid() const {
        return boundary == BoundaryKind::wrap && kernel <= image && out_end - out_begin <= image;
    }
};

/// One axis of a tile or problem: samples that are loaded, taps that are used, outputs that are
/// kept.
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
    /// Returns the grid position of output out_begin.
    index_t kept_begin() const { return out_begin - load_begin - kernel_begin; }
    friend bool operator==(const AxisWindow&, const AxisWindow&) = default;
};

/// Returns the sizes of the window, as engines take them.
BlockAxis block_axis(const AxisWindow& window);

/// Returns a window with the taps that can reach an output of `problem`: all others multiply zeros.
AxisWindow trim_kernel(const AxisProblem& problem);

/// Returns the window for outputs [begin, end) of the problem. The kernel is trimmed for the whole
/// problem, so that tiles share one kernel. `grid` is the least length without aliases. With
/// `periodic_grid` the grid has the length of the image, and the circular convolution wraps as the
/// boundary does; see AxisProblem::may_have_periodic_grid().
AxisWindow axis_window(const AxisProblem& problem, index_t begin, index_t end,
                       bool periodic_grid = false);

/// Returns the index in [0, image) of sample i of the continued image, or -1 if it is zero.
index_t source_index(index_t i, index_t image, BoundaryKind boundary);

/// Returns the source indices of the loaded samples load_begin … load_end-1.
std::vector<index_t> gather_indices(const AxisWindow& window, index_t image, BoundaryKind boundary);

/// Outputs [begin, end) of one axis, in the coordinates of mode full.
struct OutputRange {
    index_t begin;
    index_t end;
};
/// Returns the outputs of `mode`. Throws InvalidArgument if mode valid has none.
OutputRange output_range(Mode mode, index_t image, index_t kernel, index_t center);

}  // namespace convolume
