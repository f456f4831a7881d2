// SPDX-License-Identifier: Apache-2.0
#pragma once
// Slabs of planes for several GPUs. Each has planes of the object and of the image of its own; for
// a convolution it needs spectra of its neighbors' object planes, for the adjoint of their image
// planes. In its memory, the first plane of what it needs is in slot 0.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "gpu/fft/pass_types.hpp"

namespace convolume::deconvolve {

struct PlanePart {
    gpu::Range object, image;  ///< its own
    gpu::Range seen, light;    ///< object planes that make its image planes; image planes that its
                               ///< object planes light; with its own

    index_t slots() const { return std::max(seen.count(), light.count()); }
};

/// One part for each of `speeds`, with planes in proportion; none is empty. At most axis.object.
inline std::vector<PlanePart> divide_planes(const gpu::PairAxis& axis,
                                            const std::vector<double>& speeds) {
    const auto parts = static_cast<index_t>(speeds.size());
    const double total = std::accumulate(speeds.begin(), speeds.end(), 0.0);
    // The middle of a plane's light is that far behind it.
    const index_t middle = (axis.taps - 1) / 2 - axis.shift;
    std::vector<index_t> object_begin{0};
    double before = 0;
    for (index_t g = 1; g <= parts; ++g) {
        before += speeds[static_cast<std::size_t>(g - 1)];
        const auto wanted = static_cast<index_t>(
            std::floor(static_cast<double>(axis.object) * before / total + 1e-6));
        object_begin.push_back(
            std::clamp<index_t>(wanted, object_begin.back() + 1, axis.object - (parts - g)));
    }
    const auto image_begin = [&](index_t g) {
        if (g == 0) return index_t{0};
        if (g == parts) return axis.image;
        return std::clamp<index_t>(object_begin[static_cast<std::size_t>(g)] + middle, 0,
                                   axis.image);
    };
    const auto hull = [](const gpu::Range& a, const gpu::Range& own) {
        if (a.count() == 0) return own;
        if (own.count() == 0) return a;
        return gpu::Range{std::min(a.begin, own.begin), std::max(a.end, own.end)};
    };
    std::vector<PlanePart> all;
    for (index_t g = 0; g < parts; ++g) {
        PlanePart part;
        part.object = {object_begin[static_cast<std::size_t>(g)],
                       object_begin[static_cast<std::size_t>(g + 1)]};
        part.image = {image_begin(g), image_begin(g + 1)};
        part.seen =
            hull(part.image.count() > 0 ? axis.seen_by(part.image) : gpu::Range{}, part.object);
        part.light = hull(axis.lit_by(part.object), part.image);
        all.push_back(part);
    }
    return all;
}

/// The length of transforms that all parts can use.
inline index_t least_grid(const gpu::PairAxis& axis, const std::vector<PlanePart>& parts) {
    index_t least = 1;
    for (const PlanePart& part : parts)
        least = std::max(least, axis.least_grid(part.image, part.object));
    return least;
}

}  // namespace convolume::deconvolve
