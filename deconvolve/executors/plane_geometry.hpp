// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "convolume/cuda/detail/complex.hpp"
#include "core/pair_axis.hpp"
#include "gpu/fft/pass_types.hpp"

// Geometry of slabs, walks and tiles: which planes and samples are where, and when.
//
// A slab has planes of the object and of the image of its own. For a convolution it needs spectra
// of its neighbors' object planes, for the adjoint of their image planes. In its memory, the first
// plane that it needs is in slot 0.
namespace convolume::deconvolve {

struct SlabPlanes {
    IndexRange object, image;  ///< the slab's own planes
    /// Object planes that the slab's image planes depend on, and image planes that its object
    /// planes light. Both ranges include the slab's own planes.
    IndexRange seen, light;

    index_t slots() const { return std::max(seen.count(), light.count()); }
};

/// Divides the planes among slabs in proportion to `speeds`. No slab is empty; there are at most
/// axis.object of them.
inline std::vector<SlabPlanes> divide_planes(const PairAxis& axis,
                                             const std::vector<double>& speeds) {
    const auto count = static_cast<index_t>(speeds.size());
    const double total = std::accumulate(speeds.begin(), speeds.end(), 0.0);
    // Number of planes from an object plane to the middle of its light.
    const index_t middle = (axis.taps - 1) / 2 - axis.shift;
    std::vector<index_t> object_begin{0};
    double before = 0;
    for (index_t g = 1; g <= count; ++g) {
        before += speeds[static_cast<std::size_t>(g - 1)];
        const auto wanted = static_cast<index_t>(
            std::floor(static_cast<double>(axis.object) * before / total + 1e-6));
        object_begin.push_back(
            std::clamp<index_t>(wanted, object_begin.back() + 1, axis.object - (count - g)));
    }
    const auto image_begin = [&](index_t g) {
        if (g == 0) return index_t{0};
        if (g == count) return axis.image;
        return std::clamp<index_t>(object_begin[static_cast<std::size_t>(g)] + middle, 0,
                                   axis.image);
    };
    const auto hull = [](const IndexRange& a, const IndexRange& own) {
        if (a.count() == 0) return own;
        if (own.count() == 0) return a;
        return IndexRange{std::min(a.begin, own.begin), std::max(a.end, own.end)};
    };
    std::vector<SlabPlanes> all;
    for (index_t g = 0; g < count; ++g) {
        SlabPlanes slab;
        slab.object = {object_begin[static_cast<std::size_t>(g)],
                       object_begin[static_cast<std::size_t>(g + 1)]};
        slab.image = {image_begin(g), image_begin(g + 1)};
        slab.seen =
            hull(slab.image.count() > 0 ? axis.seen_by(slab.image) : IndexRange{}, slab.object);
        slab.light = hull(axis.lit_by(slab.object), slab.image);
        all.push_back(slab);
    }
    return all;
}

/// Returns the least length of transforms that all slabs can use.
inline index_t least_grid(const PairAxis& axis, const std::vector<SlabPlanes>& slabs) {
    index_t least = 1;
    for (const SlabPlanes& slab : slabs)
        least = std::max(least, axis.least_grid(slab.image, slab.object));
    return least;
}

// Windows of planes: some samples of each, for functors over all samples.

/// Consecutive planes, and the window of each whose samples count.
struct PlaneWindow {
    index_t rows = 1, row = 1;  ///< numbers of rows in a plane, and of samples in a row
    IndexRange y, x;            ///< the rows and samples whose results count
    bool is_whole = true;       ///< whether the window is the whole plane

    CONVOLUME_DEVICE bool holds(index_t i) const {
        if (is_whole) return true;
        const index_t at_y = i / row % rows, at_x = i % row;
        return at_y >= y.begin && at_y < y.end && at_x >= x.begin && at_x < x.end;
    }
};

/// Calls a functor everywhere, but sums its results only in a window.
template <class Functor>
struct WindowedSum {
    Functor functor;
    PlaneWindow window;
    template <class... Near>
    CONVOLUME_DEVICE auto operator()(index_t i, const Near&... near) const {
        const auto sum = functor(i, near...);
        return window.holds(i) ? sum : decltype(functor(i, near...)){};
    }
};
template <class Functor>
WindowedSum(Functor, PlaneWindow) -> WindowedSum<Functor>;

// Walks. One walk along z is a whole iteration, with the spectra of only some planes on the GPU. A
// step loads points of object planes and compares the image planes that are now complete. It also
// updates the object planes whose light is now complete, 2 (taps - 1) planes behind. Spectra lie in
// a ring of slots. A result takes the slot of a plane that is no longer needed: an image plane that
// of the first object plane it depends on, an updated plane that of the first image plane it
// lights.
//
// Walks can form a chain: each loads the planes that the one before it has updated, and has a ring
// of its own.

/// Ranges of planes of a step of a walk. Any range may be empty.
struct WalkStep {
    IndexRange load;    ///< object planes to load
    IndexRange image;   ///< image planes to compare
    IndexRange seen;    ///< object planes that `image` depends on
    IndexRange update;  ///< object planes to update
    IndexRange light;   ///< image planes that `update` lights
};

class PlaneWalk {
  public:
    /// Updates the object planes `own`, `depth` planes a step. The axis needs a grid of at least
    /// depth + taps - 1 samples.
    PlaneWalk(const PairAxis& axis, const IndexRange& own, index_t depth)
        : PlaneWalk(axis, own, depth, loaded_for(axis, own).begin) {}

    /// Returns a chain of `count` walks. Each updates the planes that the next one loads in the
    /// same step, and the last one updates `own`.
    static std::vector<PlaneWalk> chain(const PairAxis& axis, const IndexRange& own, index_t depth,
                                        index_t count) {
        std::vector<IndexRange> updated{own};
        while (static_cast<index_t>(updated.size()) < count)
            updated.push_back(loaded_for(axis, updated.back()));
        std::vector<PlaneWalk> walks;
        index_t begin = loaded_for(axis, updated.back()).begin;
        for (auto of = updated.rbegin(); of != updated.rend(); ++of, begin -= axis.taps - 1)
            walks.push_back(PlaneWalk(axis, *of, depth, begin));
        return walks;
    }

    /// Returns the samples of a transform for steps of `depth` planes.
    static index_t least_grid(const PairAxis& axis, index_t depth) { return depth + axis.taps - 1; }
    index_t ring() const { return ring(axis_, planes_a_step_); }
    static index_t ring(const PairAxis& axis, index_t depth) { return depth + 2 * (axis.taps - 1); }
    /// Returns the number of planes from the first that waits for its update to the last that is
    /// loaded.
    index_t waiting() const { return planes_a_step_ + reach_; }

    const IndexRange& own() const { return own_; }
    /// Returns the object planes to load: `own`, and those that their updates depend on.
    IndexRange loaded() const { return loaded_for(axis_, own_); }
    index_t steps() const { return ceil_div(own_.end + reach_ - begin_, planes_a_step_); }

    /// Returns the planes that step k loads, compares and updates.
    WalkStep planes_at_step(index_t k) const {
        const IndexRange front{begin_ + k * planes_a_step_, begin_ + (k + 1) * planes_a_step_};
        WalkStep step;
        step.load = front.within(loaded());
        step.image = IndexRange{front.begin - axis_.shift, front.end - axis_.shift}.within(
            axis_.lit_by(own_));
        step.seen = step.image.count() > 0 ? axis_.seen_by(step.image) : IndexRange{};
        step.update = IndexRange{front.begin - reach_, front.end - reach_}.within(own_);
        step.light = step.update.count() > 0 ? axis_.lit_by(step.update) : IndexRange{};
        return step;
    }

    // Return the slot of an object plane, of an image plane, or of an updated object plane.
    index_t of_object(index_t plane) const { return in_ring(plane); }
    index_t of_image(index_t plane) const { return in_ring(plane + axis_.shift - reach_); }
    index_t of_update(index_t plane) const { return in_ring(plane - reach_); }

  private:
    /// The first step loads planes from `begin` on, of which the first ones may not exist.
    PlaneWalk(const PairAxis& axis, const IndexRange& own, index_t depth, index_t begin)
        : axis_(axis), own_(own), planes_a_step_(depth), reach_(axis.taps - 1), begin_(begin) {}

    static IndexRange loaded_for(const PairAxis& axis, const IndexRange& own) {
        return IndexRange{own.begin - (axis.taps - 1), own.end + axis.taps - 1}.within(
            axis.whole_object());
    }

    index_t in_ring(index_t slot) const { return (slot % ring() + ring()) % ring(); }

    PairAxis axis_;
    IndexRange own_;
    index_t planes_a_step_;
    index_t reach_;
    index_t begin_;
};

// Tiles of planes, for walks whose planes are too large for a GPU or have no passes. A walk goes
// through each tile with the samples around it that its update depends on.

/// Numbers of samples of a plane of the object and of the image.
struct PlaneSampleCounts {
    index_t object = 0, image = 0;
};

/// Ranges of a tile along one axis.
struct TileAxis {
    IndexRange own;      ///< object samples that only this tile updates
    IndexRange object;   ///< object samples that the tile loads
    IndexRange image;    ///< image samples that the tile compares
    IndexRange counted;  ///< image samples whose misfit the tile counts
    /// Object samples with a correct update: the tile's own samples, and those that the next walk
    /// of a chain needs.
    IndexRange updated;

    /// Returns the axis of the tile alone, on the same grid.
    PairAxis within(const PairAxis& whole) const {
        PairAxis axis = whole;
        axis.object = object.count();
        axis.image = image.count();
        axis.shift += image.begin - object.begin;
        return axis;
    }
};

/// Divides an axis into `count` tiles, at most axis.object; a single tile has all samples. In a
/// chain of `chained` walks, each walk depends on the updates of the one before.
inline std::vector<TileAxis> divide_axis(const PairAxis& axis, index_t count, index_t chained) {
    const auto hull = [](const IndexRange& a, const IndexRange& b) {
        return IndexRange{std::min(a.begin, b.begin), std::max(a.end, b.end)};
    };
    std::vector<TileAxis> tiles;
    for (const SlabPlanes& slab :
         divide_planes(axis, std::vector<double>(static_cast<std::size_t>(count), 1.0))) {
        TileAxis tile;
        tile.own = tile.updated = slab.object;
        tile.counted = slab.image;
        for (index_t i = 1; i < chained; ++i)
            tile.updated =
                IndexRange{tile.updated.begin - (axis.taps - 1), tile.updated.end + axis.taps - 1}
                    .within(axis.whole_object());
        tile.image = axis.lit_by(tile.updated);
        if (tile.counted.count() > 0) tile.image = hull(tile.image, tile.counted);
        tile.object = hull(axis.seen_by(tile.image), tile.updated);
        tiles.push_back(tile);
    }
    return tiles;
}

/// Returns the least length of transforms for all tiles.
inline index_t least_grid(const PairAxis& axis, const std::vector<TileAxis>& tiles) {
    index_t least = 1;
    for (const TileAxis& tile : tiles)
        least = std::max({least, axis.least_grid(tile.image, tile.updated), tile.object.count()});
    return least;
}

/// A tile of the planes of the object and of the image.
struct PlaneTile {
    TileAxis y, x;
    bool is_whole = true;

    PlaneSampleCounts samples() const {
        return {checked_multiply(y.object.count(), x.object.count()),
                checked_multiply(y.image.count(), x.image.count())};
    }
    /// Return the windows of the tile's own samples in the planes that the tile loads.
    PlaneWindow own_window() const {
        return {y.object.count(), x.object.count(), from(y.own, y.object), from(x.own, x.object),
                is_whole};
    }
    PlaneWindow counted_window() const {
        return {y.image.count(), x.image.count(), from(y.counted, y.image),
                from(x.counted, x.image), is_whole};
    }

  private:
    static IndexRange from(const IndexRange& range, const IndexRange& whole) {
        return {range.begin - whole.begin, range.end - whole.begin};
    }
};

/// Returns the numbers of samples of the largest tile.
inline PlaneSampleCounts most_samples(const std::vector<PlaneTile>& tiles) {
    PlaneSampleCounts most;
    for (const PlaneTile& tile : tiles) {
        most.object = std::max(most.object, tile.samples().object);
        most.image = std::max(most.image, tile.samples().image);
    }
    return most;
}

/// Returns all tiles of the planes, along y and x.
inline std::vector<PlaneTile> tiles_of(const std::vector<TileAxis>& y,
                                       const std::vector<TileAxis>& x) {
    std::vector<PlaneTile> tiles;
    for (const TileAxis& along_y : y)
        for (const TileAxis& along_x : x)
            tiles.push_back({along_y, along_x, y.size() == 1 && x.size() == 1});
    return tiles;
}
/// Returns a single tile of whole planes.
inline PlaneTile whole_planes(const PairAxis& y, const PairAxis& x) {
    return tiles_of(divide_axis(y, 1, 1), divide_axis(x, 1, 1)).front();
}

// Prediction of an iteration's time in a walk: the time of the bus or of the GPU's memory,
// whichever is longer. It only serves to compare walks, so it is rough.

struct WalkRates {
    double to_device = 1, to_host = 1, memory = 1;  ///< transfers and GPU memory, in bytes a second
};

/// Bytes that a walk moves, for any number of fused iterations.
struct WalkTraffic {
    double up = 0, down = 0;  ///< bytes that cross the bus to the device and to the host
    double arrays = 0;        ///< bytes of arrays in GPU memory that an iteration reads and writes
};

/// Predicts the seconds of an iteration in a walk. `plane_bytes` are the bytes of a plane's
/// spectrum.
inline double iteration_seconds(const PairAxis& z, double plane_bytes, index_t depth,
                                index_t iterations_a_walk, const WalkTraffic& traffic,
                                const WalkRates& rates) {
    const auto planes = static_cast<double>(z.object);
    const auto steps = static_cast<double>(depth);
    const auto taps = static_cast<double>(z.taps);
    // The uploads of the first step and the downloads of the last one overlap with no other work.
    const double ends = 1 + 2 * std::min(1.0, steps / planes);
    const double bus_seconds =
        ends * std::max(traffic.up / rates.to_device, traffic.down / rates.to_host);
    // Passes along x and y read and write a plane six times. Each of two passes along z reads the
    // planes that it depends on and the kernel's taps, and writes the planes of a step.
    constexpr double share_of_peak = 0.6;
    const double seen = (steps + taps - 1) / steps, kernel = taps / steps;
    const double pass_bytes = (12 + 2 * (1 + seen + kernel)) * plane_bytes * planes;
    const double gpu_seconds = (pass_bytes + traffic.arrays) / (share_of_peak * rates.memory);
    return std::max(bus_seconds / static_cast<double>(iterations_a_walk), gpu_seconds);
}

}  // namespace convolume::deconvolve
