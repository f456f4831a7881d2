// SPDX-License-Identifier: Apache-2.0
#pragma once
// How one block's 2D spectra lie in memory: planes of `rows` × `pitch` complex samples, the last
// few of each row unused. Arithmetic only, shared by the cost model and the transforms.

#include <algorithm>

#include "core/engine.hpp"

namespace convolume::cpu {

struct SpectrumLayout {
    index_t length_x;   ///< samples of a row in space
    index_t half_x;     ///< complex samples of a row's spectrum
    index_t rows;       ///< grid length along y
    index_t planes;     ///< grid length along z
    index_t row_batch;  ///< rows transformed at once: divides `rows`
    index_t pitch;      ///< columns, a multiple of what a transform of columns takes
    index_t plane;      ///< complex samples from one plane to the next

    /// Width of the tiles of the pass along z, in complex samples: two cache lines in float.
    static constexpr index_t z_tile = 16;
    /// Columns along y that are transformed at once; the last ones of a plane may be half as many.
    static constexpr index_t column_batch = 16;

    SpectrumLayout(const Shape3& grid, bool complex_data)
        : length_x(grid.x),
          half_x(complex_data ? grid.x : grid.x / 2 + 1),
          rows(grid.y),
          planes(grid.z) {
        row_batch = 1;
        for (index_t batch = 2; batch <= std::min<index_t>(16, rows); ++batch)
            if (rows % batch == 0) row_batch = batch;
        pitch = round_up(half_x, column_batch / 2);
        plane = round_up(rows * pitch, z_tile);
    }
};

}  // namespace convolume::cpu
