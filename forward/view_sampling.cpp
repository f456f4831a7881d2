// SPDX-License-Identifier: Apache-2.0
#include "forward/view_sampling.hpp"

#include <algorithm>
#include <cmath>

#include "convolume/error.hpp"
#include "core/threads.hpp"

namespace convolume::forward {

/// The eight voxels around a position, and their weights.
struct Corners {
    explicit Corners(const std::array<double, 3>& at) {
        for (std::size_t a = 0; a < 3; ++a) {
            // std::floor() is a call without SSE4.1.
            index_t floor = static_cast<index_t>(at[a]);
            floor -= at[a] < static_cast<double>(floor);
            first[static_cast<int>(a)] = floor;
            upper[a] = at[a] - static_cast<double>(floor);
        }
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
    if (is_shift_) return;
    if (const auto axis = PlaneSampling::free_axis(object, grid, map))
        planes_.emplace(object, grid, map, samples_, *axis);
}

SamplingParameters ViewSampling::parameters() const {
    SamplingParameters parameters{};
    parameters.object = object_;
    parameters.grid = grid_;
    parameters.share = share_;
    const VoxelMap back = inverse(map_);
    for (int a = 0; a < 3; ++a) {
        const auto axis = static_cast<std::size_t>(a);
        const auto samples = static_cast<double>(samples_[a]);
        parameters.offset[a] = map_.offset[axis];
        parameters.samples[a] = samples_[a];
        parameters.reach[a] = 0.5 * (samples - 1) / samples;
        for (int b = 0; b < 3; ++b) {
            parameters.matrix[a][b] = map_.matrix[axis][static_cast<std::size_t>(b)];
            parameters.back[a][b] = back.matrix[axis][static_cast<std::size_t>(b)];
            parameters.reach[a] += std::abs(parameters.back[a][b]);
        }
    }
    return parameters;
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

// Calls inside(x, cell, weights) for the voxels of a row in [first, last) whose corners are all in
// `part`, and outside(corners, x) for the others. `cell` is the index of the first corner.
template <class Inside, class Outside>
void ViewSampling::visit_row(const RowStart& row, index_t first, index_t last, const Box3& part,
                             const Inside& inside, const Outside& outside) const {
    const auto at = [&](index_t x) {
        const auto way = static_cast<double>(x);
        return std::array<double, 3>{row.begin[0] + way * step_[0], row.begin[1] + way * step_[1],
                                     row.begin[2] + way * step_[2]};
    };
    const auto fits = [&](index_t x) {
        const std::array<double, 3> position = at(x);
        for (std::size_t a = 0; a < 3; ++a) {
            const int axis = static_cast<int>(a);
            if (position[a] < static_cast<double>(part.begin[axis]) ||
                position[a] >= static_cast<double>(part.end[axis] - 1))
                return false;
        }
        return true;
    };
    // Positions are linear along the row, so that the voxels which fit follow each other.
    index_t begin = first, end = last;
    for (int axis = 0; axis < 3; ++axis) {
        const auto [from, to] = voxels_between(row, axis, part.begin[axis], part.end[axis] - 2);
        begin = std::max(begin, from);
        end = std::min(end, to);
    }
    while (begin < end && !fits(begin)) ++begin;
    while (begin < end && !fits(end - 1)) --end;
    if (begin >= end) begin = end = last;
    for (index_t x = first; x < begin; ++x) outside(Corners(at(x)), x);
    for (index_t x = begin; x < end; ++x) {
        const std::array<double, 3> position = at(x);
        const auto z = static_cast<index_t>(position[0]), y = static_cast<index_t>(position[1]),
                   column = static_cast<index_t>(position[2]);
        inside(x, (z * object_.y + y) * object_.x + column,
               std::array<double, 3>{position[0] - static_cast<double>(z),
                                     position[1] - static_cast<double>(y),
                                     position[2] - static_cast<double>(column)});
    }
    for (index_t x = end; x < last; ++x) outside(Corners(at(x)), x);
}

template <class T>
void ViewSampling::sample_row(const T* object, const RowStart& row, T* out) const {
    const index_t next_row = object_.x, next_plane = object_.y * object_.x;
    const Box3 all{{}, object_};
    const auto share = static_cast<T>(share_);
    const auto between = [](T low, T high, T weight) { return low + weight * (high - low); };
    visit_row(
        row, 0, grid_.x, all,
        [&](index_t x, index_t cell, const std::array<double, 3>& weights) {
            const T *const near = object + cell, *const far = near + next_plane;
            const auto of_z = static_cast<T>(weights[0]), of_y = static_cast<T>(weights[1]),
                       of_x = static_cast<T>(weights[2]);
            const T low = between(between(near[0], near[1], of_x),
                                  between(near[next_row], near[next_row + 1], of_x), of_y);
            const T high = between(between(far[0], far[1], of_x),
                                   between(far[next_row], far[next_row + 1], of_x), of_y);
            out[x] += share * between(low, high, of_z);
        },
        [&](const Corners& corners, index_t x) {
            for_corners_in(corners, all, object_, [&](index_t i, double weight) {
                out[x] += static_cast<T>(share_ * weight * static_cast<double>(object[i]));
            });
        });
}

ViewSampling::RowInObject ViewSampling::row_in_object(index_t z, index_t y) const {
    const index_t in_z = z + shift_.z, in_y = y + shift_.y;
    if (in_z < 0 || in_z >= object_.z || in_y < 0 || in_y >= object_.y) return {};
    const index_t first = std::max<index_t>(0, -shift_.x);
    const index_t last = std::min(grid_.x, object_.x - shift_.x);
    if (first >= last) return {};
    return {first, last - first, (in_z * object_.y + in_y) * object_.x + first + shift_.x};
}

template <class T>
void ViewSampling::sample(const T* object, T* grid, int threads) const {
    if (planes_) return planes_->sample(object, grid, threads);
    parallel_for(grid_.z * grid_.y, threads, [&](index_t i, int) {
        const index_t z = i / grid_.y, y = i % grid_.y;
        T* const out = grid + i * grid_.x;
        std::fill_n(out, grid_.x, T{0});
        if (is_shift_) {
            const RowInObject inside = row_in_object(z, y);
            std::copy_n(object + inside.at, inside.count, out + inside.first);
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
    // Calls add(dz, dy, dx, light) for the eight corners. Their light is computed alike wherever
    // parts begin, so that results do not depend on the number of threads.
    const auto divide = [&](index_t x, const std::array<double, 3>& weights, const auto& add) {
        const T value = static_cast<T>(share_) * in[x];
        const auto of_y = static_cast<T>(weights[1]), of_x = static_cast<T>(weights[2]);
        const T far = value * static_cast<T>(weights[0]);
        for (int dz = 0; dz < 2; ++dz) {
            const T plane = dz == 0 ? value - far : far, lower = plane * of_y;
            for (int dy = 0; dy < 2; ++dy) {
                const T line = dy == 0 ? plane - lower : lower, right = line * of_x;
                add(dz, dy, 0, line - right);
                add(dz, dy, 1, right);
            }
        }
    };
    visit_row(
        row, first, last, part,
        [&](index_t x, index_t cell, const std::array<double, 3>& weights) {
            divide(x, weights, [&](int dz, int dy, int dx, T light) {
                object[cell + dz * next_plane + dy * next_row + dx] += light;
            });
        },
        [&](const Corners& corners, index_t x) {
            divide(x, corners.upper, [&](int dz, int dy, int dx, T light) {
                const Index3 at{corners.first.z + dz, corners.first.y + dy, corners.first.x + dx};
                for (int a = 0; a < 3; ++a)
                    if (at[a] < part.begin[a] || at[a] >= part.end[a]) return;
                object[at.z * next_plane + at.y * next_row + at.x] += light;
            });
        });
}

template <class T>
void ViewSampling::add_back(const T* grid, T* object, int threads) const {
    if (planes_) return planes_->add_back(grid, object, threads);
    if (is_shift_) {
        parallel_for(grid_.z * grid_.y, threads, [&](index_t i, int) {
            const RowInObject inside = row_in_object(i / grid_.y, i % grid_.y);
            const T* const in = grid + i * grid_.x + inside.first;
            T* const out = object + inside.at;
            for (index_t x = 0; x < inside.count; ++x) out[x] += in[x];
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
