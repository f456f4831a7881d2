// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random blocks with their data, and the result that every engine must reach.

#include <string>

#include "tests/support/circular.hpp"
#include "tests/support/random.hpp"

namespace convolume::testing {

struct BlockCase {
    Block block;
    Array source;  ///< samples in coordinates of the image
    PixelType source_type = PixelType::float32;
    Array taps;
    std::array<std::vector<index_t>, 3> gather;
    double subtract = 0;
    Complex add = 0;

    std::string describe() const;
    Array expected() const;
    double norm_floor() const;
    Volume taps_volume() const;
    BlockInput input(const ConstImageView& source_view) const {
        return {source_view, gather, subtract, false};
    }
};

/// Draws a block for Fourier transforms that is a whole problem, on a random circular grid.
BlockCase random_fft_case(Random& random);
/// Draws a block for direct or separable sums: a random window of a convolution.
BlockCase random_space_case(Random& random, Algorithm algorithm);
/// Draws a block for Fourier transforms as it is for a part of a DIF split: along z, everything is
/// loaded and kept.
BlockCase random_part_case(Random& random);

/// Returns a real block of given sizes whose gather reads all samples in order.
BlockCase plain_case(Random& random, const Shape3& grid, const Shape3& kernel, Precision precision);

}  // namespace convolume::testing
