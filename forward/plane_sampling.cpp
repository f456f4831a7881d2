// SPDX-License-Identifier: Apache-2.0
#include "forward/plane_sampling.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/threads.hpp"
#include "forward/put_transposed.hpp"

namespace convolume::forward {

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
            map_.matrix[a][b] = map.matrix[axis][static_cast<std::size_t>(axes_[b])];
        map_.offset[a] = map.offset[axis];
        map_.samples[a] = samples[axes_[a]];
        map_.object[a] = object_.extents[a];
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
    // Copies or adds the voxels that are `displacement` farther.
    const auto take = [&](index_t displacement, double part, bool adds) {
        const auto weight = static_cast<T>(part);
        const index_t begin = std::max<index_t>(0, -(first + displacement));
        const index_t end = std::min(lanes, from.extents[2] - first - displacement);
        const T* const corner = array + u * from.steps[0] + (first + displacement) * from.steps[2];
        if (from.steps[2] != 1) {
            if (begin < end)
                put_transposed(corner + begin * from.steps[2], from.steps[2], end - begin, width,
                               weight, adds, tile + begin, lanes);
            return;
        }
        for (index_t v = 0; v < width; ++v)
            for (index_t k = begin; k < end; ++k) {
                const T value = weight * corner[v * step + k];
                tile[v * lanes + k] = adds ? tile[v * lanes + k] + value : value;
            }
    };
    if (first < 0 || first + lanes > from.extents[2]) std::fill_n(tile, width * lanes, T{0});
    take(0, 1 - later, false);
    if (later > 0) take(1, later, true);
}

// Stores vectors along the free axis as the voxels (u, v, first...) of an array, or adds them.
template <class T>
void PlaneSampling::store(const Layout& to, const T* tile, index_t u, index_t first, bool adds,
                          T* array) {
    const index_t width = to.extents[1], step = to.steps[1];
    const index_t used = std::min(lanes, to.extents[2] - first);
    T* const corner = array + u * to.steps[0] + first * to.steps[2];
    if (to.steps[2] != 1)
        return put_transposed(tile, lanes, width, used, T{1}, adds, corner, to.steps[2]);
    for (index_t v = 0; v < width; ++v)
        for (index_t k = 0; k < used; ++k) {
            T& voxel = corner[v * step + k];
            voxel = adds ? voxel + tile[v * lanes + k] : tile[v * lanes + k];
        }
}

// Vectors of a thread: of all voxels of an object's plane, and of a row of the grid.
template <class T>
struct Vectors {
    std::vector<T> plane, tile;
};

template <class T>
void PlaneSampling::sample(const T* object, T* grid, int threads) const {
    std::vector<Vectors<T>> of_threads(static_cast<std::size_t>(threads));
    parallel_for(ceil_div(grid_.extents[2], lanes), threads, [&](index_t part, int thread) {
        const index_t first = part * lanes, width = grid_.extents[1];
        auto& [plane, tile] = of_threads[static_cast<std::size_t>(thread)];
        plane.resize(static_cast<std::size_t>(object_.plane() * lanes));
        tile.resize(static_cast<std::size_t>(width * lanes));
        for (index_t u = 0; u < object_.extents[0]; ++u)
            load(object_, object, u, first + shift_, fraction_,
                 plane.data() + u * object_.extents[1] * lanes);
        for (index_t u = 0; u < grid_.extents[0]; ++u) {
            gather_row<T>(map_, u, width, plane.data(), tile.data());
            store(grid_, tile.data(), u, first, false, grid);
        }
    });
}

template <class T>
void PlaneSampling::add_back(const T* grid, T* object, int threads) const {
    std::vector<Vectors<T>> of_threads(static_cast<std::size_t>(threads));
    parallel_for(ceil_div(object_.extents[2], lanes), threads, [&](index_t part, int thread) {
        const index_t first = part * lanes, width = grid_.extents[1];
        auto& [plane, tile] = of_threads[static_cast<std::size_t>(thread)];
        plane.assign(static_cast<std::size_t>(object_.plane() * lanes), T{0});
        tile.resize(static_cast<std::size_t>(width * lanes));
        // Voxel w of the object is the first neighbor of voxel w - shift_ of the grid, and the
        // second one of the voxel before.
        const bool is_between = fraction_ > 0;
        for (index_t u = 0; u < grid_.extents[0]; ++u) {
            load(grid_, grid, u, first - shift_ - is_between, is_between ? 1 - fraction_ : 0.0,
                 tile.data());
            scatter_row<T>(map_, u, width, tile.data(), plane.data());
        }
        for (index_t u = 0; u < object_.extents[0]; ++u)
            store(object_, plane.data() + u * object_.extents[1] * lanes, u, first, true, object);
    });
}

template void PlaneSampling::sample(const float*, float*, int) const;
template void PlaneSampling::sample(const double*, double*, int) const;
template void PlaneSampling::add_back(const float*, float*, int) const;
template void PlaneSampling::add_back(const double*, double*, int) const;

}  // namespace convolume::forward
