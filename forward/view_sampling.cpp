// SPDX-License-Identifier: Apache-2.0
#include "forward/view_sampling.hpp"

#include <algorithm>
#include <cmath>

#include "convolume/error.hpp"
#include "core/threads.hpp"

namespace convolume::forward {

// Rounding errors of maps that were multiplied and inverted; a voxel is 1.
static constexpr double rounding = 1e-9;

/// The eight voxels around a position, and their weights.
struct Corners {
    explicit Corners(const std::array<double, 3>& at) {
        for (int a = 0; a < 3; ++a) {
            const double floor = std::floor(at[static_cast<std::size_t>(a)]);
            first[a] = static_cast<index_t>(floor);
            upper[static_cast<std::size_t>(a)] = at[static_cast<std::size_t>(a)] - floor;
        }
    }
    /// Whether all of them are in an object of these extents.
    bool are_inside(const Shape3& object) const {
        for (int a = 0; a < 3; ++a)
            if (first[a] < 0 || first[a] + 1 >= object[a]) return false;
        return true;
    }
    double weight(int axis, int side) const {
        const double high = upper[static_cast<std::size_t>(axis)];
        return side == 0 ? 1 - high : high;
    }

    Index3 first;
    std::array<double, 3> upper;
};

/// Calls visit(index, weight) for those of the corners that are in `part` of an object.
template <class Visit>
void for_corners_in(const Corners& corners, const Box3& part, const Shape3& object,
                    const Visit& visit) {
    for (int dz = 0; dz < 2; ++dz) {
        const index_t z = corners.first.z + dz;
        if (z < part.begin.z || z >= part.end.z) continue;
        for (int dy = 0; dy < 2; ++dy) {
            const index_t y = corners.first.y + dy;
            if (y < part.begin.y || y >= part.end.y) continue;
            for (int dx = 0; dx < 2; ++dx) {
                const index_t x = corners.first.x + dx;
                if (x < part.begin.x || x >= part.end.x) continue;
                visit((z * object.y + y) * object.x + x,
                      corners.weight(0, dz) * corners.weight(1, dy) * corners.weight(2, dx));
            }
        }
    }
}

ViewSampling::ViewSampling(const Shape3& object, const Shape3& grid, const VoxelMap& map)
    : object_(object), grid_(grid), map_(map) {
    static_cast<void>(inverse(map));  // throws if there is none
    is_shift_ = true;
    double count = 1;
    for (int a = 0; a < 3; ++a) {
        const auto axis = static_cast<std::size_t>(a);
        double longest = 0;
        for (std::size_t b = 0; b < 3; ++b) {
            longest = std::max(longest, std::abs(map.matrix[b][axis]));
            is_shift_ = is_shift_ && std::abs(map.matrix[axis][b] - (axis == b)) <
                                         rounding / static_cast<double>(grid[static_cast<int>(b)]);
        }
        const double offset = map.offset[axis];
        constexpr double most_samples = 1 << 12, farthest = 1e15;
        if (longest > most_samples || std::abs(offset) > farthest)
            throw InvalidArgument(
                message("the transform of a view makes a voxel ", longest,
                        " voxels of the object large, or moves it by ", offset,
                        ": check its numbers, and whether they are in voxels or in micrometers"));
        is_shift_ = is_shift_ && std::abs(offset - std::round(offset)) < rounding;
        shift_[a] = static_cast<index_t>(std::round(offset));
        samples_[a] =
            std::max<index_t>(1, static_cast<index_t>(std::ceil(longest - 1e3 * rounding)));
        count *= static_cast<double>(samples_[a]);
        step_[axis] = map.matrix[axis][2];
    }
    share_ = 1 / count;
}

ViewSampling::RowStart ViewSampling::row_at(index_t z, index_t y) const {
    return {map_({static_cast<double>(z), static_cast<double>(y), 0})};
}

// Calls visit(displacement) for every sample of a voxel, with its displacement in the object.
template <class Visit>
void ViewSampling::for_each_sample(const Visit& visit) const {
    const auto within = [](index_t sample, index_t samples) {
        return (static_cast<double>(sample) + 0.5) / static_cast<double>(samples) - 0.5;
    };
    for (index_t z = 0; z < samples_.z; ++z)
        for (index_t y = 0; y < samples_.y; ++y)
            for (index_t x = 0; x < samples_.x; ++x) {
                const std::array<double, 3> at{within(z, samples_.z), within(y, samples_.y),
                                               within(x, samples_.x)};
                std::array<double, 3> displacement{};
                for (std::size_t a = 0; a < 3; ++a)
                    for (std::size_t b = 0; b < 3; ++b)
                        displacement[a] += map_.matrix[a][b] * at[b];
                visit(displacement);
            }
}

template <class T>
void ViewSampling::sample_row(const T* object, const RowStart& row, T* out) const {
    const index_t next_row = object_.x, next_plane = object_.y * object_.x;
    const Box3 all{{}, object_};
    for (index_t x = 0; x < grid_.x; ++x) {
        const auto way = static_cast<double>(x);
        const Corners corners({row.begin[0] + way * step_[0], row.begin[1] + way * step_[1],
                               row.begin[2] + way * step_[2]});
        double sum = 0;
        if (corners.are_inside(object_)) {
            const T* const at = object +
                                (corners.first.z * object_.y + corners.first.y) * object_.x +
                                corners.first.x;
            const auto along_x = [&](const T* from) {
                return from[0] + corners.upper[2] * (static_cast<double>(from[1]) - from[0]);
            };
            const auto along_y = [&](const T* from) {
                const double low = along_x(from);
                return low + corners.upper[1] * (along_x(from + next_row) - low);
            };
            const double low = along_y(at);
            sum = low + corners.upper[0] * (along_y(at + next_plane) - low);
        } else {
            for_corners_in(corners, all, object_, [&](index_t i, double weight) {
                sum += weight * static_cast<double>(object[i]);
            });
        }
        out[x] += static_cast<T>(share_ * sum);
    }
}

template <class T>
void ViewSampling::sample(const T* object, T* grid, int threads) const {
    parallel_for(grid_.z * grid_.y, threads, [&](index_t i, int) {
        const index_t z = i / grid_.y, y = i % grid_.y;
        T* const out = grid + i * grid_.x;
        std::fill_n(out, grid_.x, T{0});
        if (is_shift_) {
            const index_t from_z = z + shift_.z, from_y = y + shift_.y;
            const index_t first = std::max<index_t>(0, -shift_.x);
            const index_t last = std::min(grid_.x, object_.x - shift_.x);
            if (from_z < 0 || from_z >= object_.z || from_y < 0 || from_y >= object_.y) return;
            const T* const from = object + (from_z * object_.y + from_y) * object_.x + shift_.x;
            if (first < last) std::copy(from + first, from + last, out + first);
            return;
        }
        const RowStart row = row_at(z, y);
        for_each_sample([&](const std::array<double, 3>& displacement) {
            sample_row(object, row.shifted(displacement), out);
        });
    });
}

std::array<index_t, 2> ViewSampling::voxels_between(const RowStart& row, int axis, index_t first,
                                                    index_t last) const {
    const auto a = static_cast<std::size_t>(axis);
    const auto low = static_cast<double>(first), high = static_cast<double>(last + 1);
    const double begin = row.begin[a], step = step_[a];
    const double length = static_cast<double>(grid_.x);
    if (std::abs(step) * length < rounding) {  // the row has one position
        const bool meets = begin >= low - 1 && begin <= high + 1;
        return {0, meets ? grid_.x : 0};
    }
    double from = (low - begin) / step, to = (high - begin) / step;
    if (from > to) std::swap(from, to);
    // One more on each side, as quotients are rounded: voxels are looked at one by one anyway.
    return {static_cast<index_t>(std::clamp(std::floor(from) - 1, 0.0, length)),
            static_cast<index_t>(std::clamp(std::ceil(to) + 2, 0.0, length))};
}

template <class T>
void ViewSampling::add_row_back(const T* in, const RowStart& row, const Box3& part, int axis,
                                T* object) const {
    const auto [first, last] = voxels_between(row, axis, part.begin[axis] - 1, part.end[axis] - 1);
    const index_t next_row = object_.x, next_plane = object_.y * object_.x;
    for (index_t x = first; x < last; ++x) {
        const auto way = static_cast<double>(x);
        const Corners corners({row.begin[0] + way * step_[0], row.begin[1] + way * step_[1],
                               row.begin[2] + way * step_[2]});
        const double value = share_ * static_cast<double>(in[x]);
        const index_t along = corners.first[axis];
        if (corners.are_inside(object_) && along >= part.begin[axis] &&
            along + 1 < part.end[axis]) {
            T* const at = object + (corners.first.z * object_.y + corners.first.y) * object_.x +
                          corners.first.x;
            for (int dz = 0; dz < 2; ++dz)
                for (int dy = 0; dy < 2; ++dy) {
                    const double weight = value * corners.weight(0, dz) * corners.weight(1, dy);
                    T* const to = at + dz * next_plane + dy * next_row;
                    to[0] += static_cast<T>(weight * corners.weight(2, 0));
                    to[1] += static_cast<T>(weight * corners.weight(2, 1));
                }
        } else {
            for_corners_in(corners, part, object_, [&](index_t i, double weight) {
                object[i] += static_cast<T>(value * weight);
            });
        }
    }
}

template <class T>
void ViewSampling::add_back(const T* grid, T* object, int threads) const {
    if (is_shift_) {
        parallel_for(object_.z * object_.y, threads, [&](index_t i, int) {
            const index_t z = i / object_.y - shift_.z, y = i % object_.y - shift_.y;
            if (z < 0 || z >= grid_.z || y < 0 || y >= grid_.y) return;
            const index_t first = std::max<index_t>(0, shift_.x);
            const index_t last = std::min(object_.x, grid_.x + shift_.x);
            const T* const in = grid + (z * grid_.y + y) * grid_.x - shift_.x;
            T* const out = object + i * object_.x;
            for (index_t x = first; x < last; ++x) out[x] += in[x];
        });
        return;
    }
    // Each thread adds to a part of the object. Voxels get their sums in the order of the grid's
    // rows, wherever parts begin.
    const int axis = object_.z >= object_.y ? 0 : 1;
    const index_t parts = std::min<index_t>(object_[axis], 4 * static_cast<index_t>(threads));
    parallel_for(parts, threads, [&](index_t i, int) {
        Box3 part{{}, object_};
        part.begin[axis] = i * object_[axis] / parts;
        part.end[axis] = (i + 1) * object_[axis] / parts;
        for (index_t k = 0; k < grid_.z * grid_.y; ++k) {
            const RowStart row = row_at(k / grid_.y, k % grid_.y);
            for_each_sample([&](const std::array<double, 3>& displacement) {
                add_row_back(grid + k * grid_.x, row.shifted(displacement), part, axis, object);
            });
        }
    });
}

template void ViewSampling::sample(const float*, float*, int) const;
template void ViewSampling::sample(const double*, double*, int) const;
template void ViewSampling::add_back(const float*, float*, int) const;
template void ViewSampling::add_back(const double*, double*, int) const;

}  // namespace convolume::forward
