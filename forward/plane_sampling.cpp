// SPDX-License-Identifier: Apache-2.0
#include "forward/plane_sampling.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/threads.hpp"

namespace convolume::forward {

// Voxels along the free axis that are computed together: a line of the cache, if they are float.
static constexpr index_t lanes = 16;

std::optional<int> PlaneSampling::free_axis(const Shape3& object, const Shape3& grid,
                                            const VoxelMap& map) {
    for (const int axis : {2, 1, 0}) {
        if (object[axis] < lanes || grid[axis] < lanes) continue;
        const auto a = static_cast<std::size_t>(axis);
        bool is_free = true;
        for (std::size_t b = 0; b < 3; ++b) {
            const double one = a == b ? 1 : 0;
            const double most = rounding / static_cast<double>(grid[static_cast<int>(b)]);
            is_free = is_free && std::abs(map.matrix[a][b] - one) < most &&
                      std::abs(map.matrix[b][a] - one) < most;
        }
        if (is_free) return axis;
    }
    return {};
}

PlaneSampling::Layout::Layout(const Shape3& shape, const std::array<int, 3>& axes) {
    const std::array<index_t, 3> of_axes{shape.y * shape.x, shape.x, 1};
    for (std::size_t a = 0; a < 3; ++a) {
        extents[a] = shape[axes[a]];
        steps[a] = of_axes[static_cast<std::size_t>(axes[a])];
    }
}

static std::array<int, 3> axes_with_last(int free_axis) {
    return {free_axis == 0 ? 1 : 0, free_axis == 2 ? 1 : 2, free_axis};
}

PlaneSampling::PlaneSampling(const Shape3& object, const Shape3& grid, const VoxelMap& map,
                             const Index3& samples, int free_axis)
    : axes_(axes_with_last(free_axis)), object_(object, axes_), grid_(grid, axes_) {
    for (std::size_t a = 0; a < 2; ++a) {
        const auto axis = static_cast<std::size_t>(axes_[a]);
        for (std::size_t b = 0; b < 2; ++b)
            matrix_[a][b] = map.matrix[axis][static_cast<std::size_t>(axes_[b])];
        offset_[a] = map.offset[axis];
        samples_[a] = samples[axes_[a]];
    }
    const double along = map.offset[static_cast<std::size_t>(free_axis)];
    const double nearest = std::round(along);
    const double whole = std::abs(along - nearest) < rounding ? nearest : std::floor(along);
    shift_ = static_cast<index_t>(whole);
    fraction_ = std::max(0.0, along - whole);
}

index_t PlaneSampling::bytes_of_thread(index_t element) const {
    return checked_multiply((object_.plane() + grid_.extents[1]) * lanes, element);
}

// Loads the voxels (u, v, first...) of an array, as vectors along the free axis for every v: their
// values there and, with the weight `later`, those of the next voxels. Outside, they are 0.
template <class T>
void PlaneSampling::load(const Layout& from, const T* array, index_t u, index_t first, double later,
                         T* tile) const {
    const index_t width = from.extents[1], step = from.steps[1];
    std::fill_n(tile, width * lanes, T{0});
    const auto add = [&](index_t displacement, double part) {
        const auto weight = static_cast<T>(part);
        const index_t begin = std::max<index_t>(0, -(first + displacement));
        const index_t end = std::min(lanes, from.extents[2] - first - displacement);
        for (index_t k = begin; k < end; ++k) {
            const T* const row =
                array + u * from.steps[0] + (first + displacement + k) * from.steps[2];
            for (index_t v = 0; v < width; ++v) tile[v * lanes + k] += weight * row[v * step];
        }
    };
    add(0, 1 - later);
    if (later > 0) add(1, later);
}

// Calls visit(index, weight) for the voxels of an object's plane that voxel (u, v) of the grid has
// a part of.
template <class Visit>
void PlaneSampling::for_each_corner(index_t u, index_t v, const Visit& visit) const {
    const double share = 1 / static_cast<double>(samples_[0] * samples_[1]);
    for (index_t i = 0; i < samples_[0]; ++i)
        for (index_t j = 0; j < samples_[1]; ++j) {
            const std::array<double, 2> within{
                static_cast<double>(u) +
                    (static_cast<double>(i) + 0.5) / static_cast<double>(samples_[0]) - 0.5,
                static_cast<double>(v) +
                    (static_cast<double>(j) + 0.5) / static_cast<double>(samples_[1]) - 0.5};
            std::array<index_t, 2> first;
            std::array<double, 2> upper;
            for (std::size_t a = 0; a < 2; ++a) {
                const double at =
                    offset_[a] + matrix_[a][0] * within[0] + matrix_[a][1] * within[1];
                // std::floor() is a call without SSE4.1.
                first[a] = static_cast<index_t>(at);
                first[a] -= at < static_cast<double>(first[a]);
                upper[a] = at - static_cast<double>(first[a]);
            }
            for (index_t k = 0; k < 4; ++k) {
                const index_t y = first[0] + k / 2, x = first[1] + k % 2;
                if (y < 0 || y >= object_.extents[0] || x < 0 || x >= object_.extents[1]) continue;
                visit(y * object_.extents[1] + x, share * (k / 2 == 0 ? 1 - upper[0] : upper[0]) *
                                                      (k % 2 == 0 ? 1 - upper[1] : upper[1]));
            }
        }
}

// Vectors of a thread: of all voxels of an object's plane, and of a row of the grid.
template <class T>
struct Vectors {
    std::vector<T> plane, tile;
};

template <class T>
static void add_weighted(double part, const T* from, T* to) {
    const auto weight = static_cast<T>(part);
    for (index_t k = 0; k < lanes; ++k) to[k] += weight * from[k];
}

template <class T>
void PlaneSampling::sample(const T* object, T* grid, int threads) const {
    std::vector<Vectors<T>> of_threads(static_cast<std::size_t>(threads));
    parallel_for(ceil_div(grid_.extents[2], lanes), threads, [&](index_t part, int thread) {
        const index_t first = part * lanes, width = grid_.extents[1];
        const index_t used = std::min(lanes, grid_.extents[2] - first);
        auto& [plane, tile] = of_threads[static_cast<std::size_t>(thread)];
        plane.resize(static_cast<std::size_t>(object_.plane() * lanes));
        tile.resize(static_cast<std::size_t>(width * lanes));
        for (index_t u = 0; u < object_.extents[0]; ++u)
            load(object_, object, u, first + shift_, fraction_,
                 plane.data() + u * object_.extents[1] * lanes);
        for (index_t u = 0; u < grid_.extents[0]; ++u) {
            for (index_t v = 0; v < width; ++v) {
                std::array<T, lanes> sums{};
                for_each_corner(u, v, [&](index_t i, double weight) {
                    add_weighted(weight, plane.data() + i * lanes, sums.data());
                });
                std::copy(sums.begin(), sums.end(), tile.data() + v * lanes);
            }
            for (index_t k = 0; k < used; ++k) {
                T* const row = grid + u * grid_.steps[0] + (first + k) * grid_.steps[2];
                const T* const sums = tile.data() + k;
                for (index_t v = 0; v < width; ++v) row[v * grid_.steps[1]] = sums[v * lanes];
            }
        }
    });
}

template <class T>
void PlaneSampling::add_back(const T* grid, T* object, int threads) const {
    std::vector<Vectors<T>> of_threads(static_cast<std::size_t>(threads));
    parallel_for(ceil_div(object_.extents[2], lanes), threads, [&](index_t part, int thread) {
        const index_t first = part * lanes, width = object_.extents[1];
        const index_t used = std::min(lanes, object_.extents[2] - first);
        auto& [plane, tile] = of_threads[static_cast<std::size_t>(thread)];
        plane.assign(static_cast<std::size_t>(object_.plane() * lanes), T{0});
        tile.resize(static_cast<std::size_t>(grid_.extents[1] * lanes));
        // Voxel w of the object is the first neighbor of voxel w - shift_ of the grid, and the
        // second one of the voxel before.
        const bool is_between = fraction_ > 0;
        for (index_t u = 0; u < grid_.extents[0]; ++u) {
            load(grid_, grid, u, first - shift_ - is_between, is_between ? 1 - fraction_ : 0.0,
                 tile.data());
            for (index_t v = 0; v < grid_.extents[1]; ++v)
                for_each_corner(u, v, [&](index_t i, double weight) {
                    add_weighted(weight, tile.data() + v * lanes, plane.data() + i * lanes);
                });
        }
        for (index_t u = 0; u < object_.extents[0]; ++u)
            for (index_t k = 0; k < used; ++k) {
                T* const row = object + u * object_.steps[0] + (first + k) * object_.steps[2];
                const T* const sums = plane.data() + u * width * lanes + k;
                for (index_t v = 0; v < width; ++v) row[v * object_.steps[1]] += sums[v * lanes];
            }
    });
}

template void PlaneSampling::sample(const float*, float*, int) const;
template void PlaneSampling::sample(const double*, double*, int) const;
template void PlaneSampling::add_back(const float*, float*, int) const;
template void PlaneSampling::add_back(const double*, double*, int) const;

}  // namespace convolume::forward
