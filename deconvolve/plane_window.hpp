// SPDX-License-Identifier: Apache-2.0
#pragma once
// Some samples of each of several planes, for stages over all of them.

#include "convolume/cuda/detail/complex.hpp"
#include "core/pair_axis.hpp"

namespace convolume::deconvolve {

/// Samples of planes that lie one after another, and some of each that matter.
struct PlaneWindow {
    index_t rows = 1, row = 1;  ///< of a plane; samples of a row
    IndexRange y, x;            ///< that matter
    bool is_whole = true;       ///< all matter

    CONVOLUME_DEVICE bool holds(index_t i) const {
        if (is_whole) return true;
        const index_t at_y = i / row % rows, at_x = i % row;
        return at_y >= y.begin && at_y < y.end && at_x >= x.begin && at_x < x.end;
    }
};

/// The number in the image of a pixel of a tile's planes.
struct PixelNumbers {
    index_t first = 0;  ///< of the first pixel of these planes
    index_t rows = 1, row = 1, whole_plane = 1, whole_row = 1;
    bool is_whole = true;

    CONVOLUME_DEVICE index_t operator[](index_t i) const {
        if (is_whole) return first + i;
        const index_t plane = i / (rows * row);
        return first + plane * whole_plane + i / row % rows * whole_row + i % row;
    }
};

/// The sums of a stage over a window, though it does its work everywhere.
template <class Stage>
struct SumWithin {
    Stage stage;
    PlaneWindow window;
    template <class... Near>
    CONVOLUME_DEVICE auto operator()(index_t i, const Near&... near) const {
        const auto sum = stage(i, near...);
        return window.holds(i) ? sum : decltype(stage(i, near...)){};
    }
};
template <class Stage>
SumWithin(Stage, PlaneWindow) -> SumWithin<Stage>;

}  // namespace convolume::deconvolve
