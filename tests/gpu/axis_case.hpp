// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random convolutions along z, whose planes are divided among devices.

#include <algorithm>
#include <vector>

#include "core/engine.hpp"
#include "core/pair_axis.hpp"
#include "gpu/volumes/spread_geometry.hpp"
#include "tests/support/random.hpp"

namespace convolume::testing {

using Samples = std::vector<double>;

inline std::size_t at(index_t i) {
    return static_cast<std::size_t>(i);
}
inline index_t wrap(index_t i, index_t n) {
    return (i % n + n) % n;
}

/// A convolution along z, whose tap i is at position (i - shift) mod grid.
struct AxisCase {
    BlockAxis z;
    index_t shift = 0;
    std::vector<index_t> planes;  ///< of the image at each loaded position, or -1
    Samples image, taps;

    /// Returns the result as sums over the whole axis.
    Samples expected() const {
        Samples result(at(z.kept));
        for (index_t k = 0; k < z.kept; ++k)
            for (index_t tap = 0; tap < z.kernel; ++tap) {
                const index_t from = wrap(z.kept_begin + k + shift - tap, z.grid);
                if (from < z.loaded && planes[at(from)] >= 0)
                    result[at(k)] += taps[at(tap)] * image[at(planes[at(from)])];
            }
        return result;
    }
};

inline AxisCase random_axis_case(Random& random) {
    AxisCase c;
    BlockAxis& z = c.z;
    z.loaded = random.integer(1, 60);
    z.kernel = random.integer(1, 24);
    const bool is_periodic = random.chance(0.4);
    z.grid =
        is_periodic ? std::max(z.loaded, z.kernel) : z.loaded + z.kernel - 1 + random.integer(0, 5);
    if (random.chance(0.2)) z.loaded = random.integer(1, z.loaded);  // a part of a period
    z.kept = random.integer(1, z.grid);
    z.kept_begin = random.integer(0, z.grid - z.kept);
    c.shift = is_periodic ? random.integer(-z.kernel, z.kernel) : 0;
    const index_t image = random.integer(1, z.loaded);
    // Images begin in the middle, are continued on both sides, or are 0 there.
    const index_t begin = random.integer(0, z.loaded - image);
    const int boundary = static_cast<int>(random.integer(0, 3));
    for (index_t i = 0; i < z.loaded; ++i) {
        const index_t plane = i - begin;
        const bool is_inside = plane >= 0 && plane < image;
        c.planes.push_back(is_inside                             ? plane
                           : boundary == 0 && random.chance(0.1) ? -1
                           : boundary == 1 ? std::clamp<index_t>(plane, 0, image - 1)
                           : boundary == 2 ? wrap(plane, image)
                                           : random.integer(0, image - 1));
    }
    for (index_t i = 0; i < image; ++i) c.image.push_back(random.uniform() - 0.5);
    for (index_t i = 0; i < z.kernel; ++i) c.taps.push_back(random.uniform() - 0.5);
    return c;
}

inline std::vector<IndexRange> random_division(Random& random, index_t count, std::size_t parts) {
    std::vector<index_t> ends;
    for (std::size_t i = 1; i < parts; ++i) ends.push_back(random.integer(0, count));
    ends.push_back(count);
    std::sort(ends.begin(), ends.end());
    std::vector<IndexRange> ranges;
    index_t begin = 0;
    for (const index_t end : ends) {
        ranges.push_back({begin, end});
        begin = end;
    }
    return ranges;
}

inline std::vector<IndexRange> even_division(index_t count, std::size_t parts) {
    std::vector<IndexRange> ranges;
    for (std::size_t i = 0; i < parts; ++i) ranges.push_back(gpu::even_part(count, i, parts));
    return ranges;
}

}  // namespace convolume::testing
