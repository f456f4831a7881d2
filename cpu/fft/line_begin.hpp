// SPDX-License-Identifier: Apache-2.0
#pragma once
// The first step of transforms of lines: transforms of as many samples as there are columns in a
// tile.

#include "convolume/shape.hpp"

namespace convolume::cpu {

/// A line of width · row_length complex samples, as a matrix of `width` rows. Its columns are
/// transformed, multiplied by twiddle factors and stored as the rows of a tile of `width` columns.
template <class Real>
struct LineBegin {
    const Real* source;
    index_t width;       ///< 8, or 16 if Real is float
    index_t row_length;  ///< at least `width`
    const Real*
        twiddles;  ///< for each `width` columns a tile of factors, the last ones from the end
    bool inverse;  ///< conjugates the samples
    Real* tile;
};

void begin_line(const LineBegin<float>& line);
void begin_line(const LineBegin<double>& line);

}  // namespace convolume::cpu
