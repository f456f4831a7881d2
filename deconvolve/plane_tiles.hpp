// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles of planes, for walks whose planes are too large for a GPU or have no passes: each is walked
// through with as much around it as its update depends on.

#include <algorithm>
#include <vector>

#include "deconvolve/plane_parts.hpp"
#include "deconvolve/plane_window.hpp"

namespace convolume::deconvolve {

/// Samples of a plane of the object, and of the image.
struct PlaneSamples {
    index_t object = 0, image = 0;
};

/// One axis of a tile.
struct TileAxis {
    gpu::Range own;      ///< object samples that it updates
    gpu::Range object;   ///< those that it loads
    gpu::Range image;    ///< image samples that it compares
    gpu::Range counted;  ///< those of them whose misfit it counts
    gpu::Range updated;  ///< object samples whose update is right: own ones, and what a chain needs

    /// The axis of the tile alone, on the same grid.
    gpu::PairAxis within(const gpu::PairAxis& whole) const {
        gpu::PairAxis axis = whole;
        axis.object = object.count();
        axis.image = image.count();
        axis.shift += image.begin - object.begin;
        return axis;
    }
};

/// As many as `count`, which is at most axis.object; of one, everything. In a chain of updates
/// each depends on what the one before makes.
inline std::vector<TileAxis> divide_axis(const gpu::PairAxis& axis, index_t count,
                                         index_t chained) {
    const auto hull = [](const gpu::Range& a, const gpu::Range& b) {
        return gpu::Range{std::min(a.begin, b.begin), std::max(a.end, b.end)};
    };
    std::vector<TileAxis> tiles;
    for (const PlanePart& part :
         divide_planes(axis, std::vector<double>(static_cast<std::size_t>(count), 1.0))) {
        TileAxis tile;
        tile.own = tile.updated = part.object;
        tile.counted = part.image;
        for (index_t i = 1; i < chained; ++i)
            tile.updated =
                gpu::Range{tile.updated.begin - (axis.taps - 1), tile.updated.end + axis.taps - 1}
                    .within(axis.whole_object());
        tile.image = axis.lit_by(tile.updated);
        if (tile.counted.count() > 0) tile.image = hull(tile.image, tile.counted);
        tile.object = hull(axis.seen_by(tile.image), tile.updated);
        tiles.push_back(tile);
    }
    return tiles;
}

/// Samples of a transform for each of them.
inline index_t least_grid(const gpu::PairAxis& axis, const std::vector<TileAxis>& tiles) {
    index_t least = 1;
    for (const TileAxis& tile : tiles)
        least = std::max({least, axis.least_grid(tile.image, tile.updated), tile.object.count()});
    return least;
}

/// A part of a plane of the object, and of the image.
struct PlaneTile {
    TileAxis y, x;
    bool is_whole = true;

    PlaneSamples samples() const {
        return {checked_multiply(y.object.count(), x.object.count()),
                checked_multiply(y.image.count(), x.image.count())};
    }
    /// Of the planes that it loads.
    PlaneWindow own_window() const {
        return {y.object.count(), x.object.count(), from(y.own, y.object), from(x.own, x.object),
                is_whole};
    }
    PlaneWindow counted_window() const {
        return {y.image.count(), x.image.count(), from(y.counted, y.image),
                from(x.counted, x.image), is_whole};
    }

  private:
    static gpu::Range from(const gpu::Range& range, const gpu::Range& whole) {
        return {range.begin - whole.begin, range.end - whole.begin};
    }
};

/// Of the largest of them.
inline PlaneSamples most_samples(const std::vector<PlaneTile>& tiles) {
    PlaneSamples most;
    for (const PlaneTile& tile : tiles) {
        most.object = std::max(most.object, tile.samples().object);
        most.image = std::max(most.image, tile.samples().image);
    }
    return most;
}

/// All tiles of the planes, along y and x.
inline std::vector<PlaneTile> tiles_of(const std::vector<TileAxis>& y,
                                       const std::vector<TileAxis>& x) {
    std::vector<PlaneTile> tiles;
    for (const TileAxis& along_y : y)
        for (const TileAxis& along_x : x)
            tiles.push_back({along_y, along_x, y.size() == 1 && x.size() == 1});
    return tiles;
}
/// The one tile of whole planes.
inline PlaneTile whole_planes(const gpu::PairAxis& y, const gpu::PairAxis& x) {
    return tiles_of(divide_axis(y, 1, 1), divide_axis(x, 1, 1)).front();
}

}  // namespace convolume::deconvolve
