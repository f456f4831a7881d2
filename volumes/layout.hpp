// SPDX-License-Identifier: Apache-2.0
#pragma once
// The geometry of one way to cut a problem into blocks, before any engine is asked about it.

#include <vector>

#include "volumes/plan.hpp"

namespace convolume {

/// Bytes of that many samples. Throws where they exceed 64 bits.
inline index_t bytes_of(const Shape3& shape, PixelType type) {
    return checked_multiply(element_count(shape), static_cast<index_t>(size_of(type)));
}

/// One axis cut into tiles that share a grid length.
struct AxisTiling {
    index_t grid = 1;
    std::vector<AxisWindow> windows;

    index_t count() const { return static_cast<index_t>(windows.size()); }
    /// Sizes no tile exceeds: what memory and time are predicted for.
    BlockAxis largest() const;
};

/// What decides grid lengths along one axis.
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
Block part_block(const Problem& problem, const Layout& layout, int part,
                 const std::array<BlockAxis, 3>& axes);

/// Planes, rows and columns of the split volume; {0, 0, 0} where nothing is split.
Shape3 scratch_shape(const Problem& problem, const Layout& layout);
index_t scratch_bytes(const Problem& problem, const Layout& layout);

/// Fills plan.blocks, plan.tasks, plan.windows and the scratch volume.
void lay_out(const Problem& problem, const Layout& layout, TaskPlan& plan);

}  // namespace convolume
