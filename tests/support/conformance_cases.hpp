// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random blocks with their data and the result any engine must reach.

#include <string>

#include "tests/support/circular.hpp"
#include "tests/support/random.hpp"

namespace convolume::testing {

struct BlockCase {
    Block block;
    PartId part;
    Array source;  ///< in the image's coordinates
    PixelType source_type = PixelType::float32;
    Array taps;
    bool complex_problem = false;  ///< of the undivided problem: then the taps are complex, too
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

/// The undivided problem on a random circular grid.
BlockCase random_fft_case(Random& random);
/// Direct or separable sums of a random window.
BlockCase random_space_case(Random& random, Algorithm algorithm);
/// One part of a random DIF split.
BlockCase random_part_case(Random& random);

/// A real block of given sizes with a plain gather.
BlockCase plain_case(Random& random, const Shape3& grid, const Shape3& kernel, Precision precision);

}  // namespace convolume::testing
