// SPDX-License-Identifier: Apache-2.0
#include "decompose/part.hpp"

#include <cmath>
#include <numbers>
#include <utility>

#include "convolume/error.hpp"

namespace convolume::decompose {

PartShape part_shape(bool complex_data, const PartId& part) {
    const index_t count = part.count;
    if (count != 1 && count != 2 && count != 4 && count != 8 && count != 16) {
        throw InvalidArgument(message("a volume can be split into 1, 2, 4, 8 or 16 parts, not ",
                                      count, "; choose one of those"));
    }
    if (part.index < 0 || part.index >= count) {
        throw InvalidArgument(message("part ", part.index, " of ", count,
                                      " does not exist; parts count from 0 to ", count - 1));
    }
    const index_t divisor = complex_data || count == 1 ? count : 2 * count;
    if (part.z_grid < 1 || part.z_grid % divisor != 0) {
        throw InvalidArgument(message("splitting ", complex_data ? "complex" : "real",
                                      " data into ", count,
                                      " parts needs a grid of z planes divisible by ", divisor,
                                      ", not ", part.z_grid, "; pad z or use fewer parts"));
    }
    if (complex_data) return {true, part.z_grid / count};
    if (part.index == 0) return {false, part.z_grid / count};
    return {true, part.z_grid / (2 * count)};
}

PartFrequencies part_frequencies(bool complex_data, int index, int count) {
    if (complex_data) return {index, count};
    if (index == 0) return {0, count};
    // At each level the first half of the parts belongs to r and the second half to c (split.hpp).
    // The j-th part of c carries frequencies 4(ν·half + j) + 1, in units of the level's frequency
    // spacing.
    index_t unit = 1;
    int half = count / 2;
    for (; index < half; half /= 2) unit *= 2;
    return {unit * (4 * (index - half) + 1), 2 * count};
}

std::complex<double> root_of_unity(index_t k, index_t n) {
    // Integers reduce the angle to the first octant, so that sin and cos round only once.
    k %= n;
    const bool below = 2 * k > n;
    index_t octants = 8 * (below ? n - k : k);  // angle = octants · π/4n
    const bool left = octants > 2 * n;
    if (left) octants = 4 * n - octants;
    const bool steep = octants > n;
    if (steep) octants = 2 * n - octants;
    const double angle =
        std::numbers::pi * static_cast<double>(octants) / (4 * static_cast<double>(n));
    double cosine = std::cos(angle);
    double sine = std::sin(angle);
    if (steep) std::swap(cosine, sine);
    return {left ? -cosine : cosine, below ? sine : -sine};
}

}  // namespace convolume::decompose
