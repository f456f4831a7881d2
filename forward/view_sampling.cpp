// SPDX-License-Identifier: Apache-2.0
#include "forward/view_sampling.hpp"

#include <algorithm>
#include <cmath>

#include "convolume/error.hpp"
#include "core/threads.hpp"

namespace convolume::forward {

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

// Calls visit(samples) for the samples at the same place in each voxel of row (z, y) of the grid.
template <class Visit>
void ViewSampling::for_each_sample(index_t row_z, index_t row_y, const Visit& visit) const {
    const std::array<double, 3> begin =
        map_({static_cast<double>(row_z), static_cast<double>(row_y), 0});
    const auto within = [](index_t sample, index_t samples) {
        return (static_cast<double>(sample) + 0.5) / static_cast<double>(samples) - 0.5;
    };
    for (index_t z = 0; z < samples_.z; ++z)
        for (index_t y = 0; y < samples_.y; ++y)
            for (index_t x = 0; x < samples_.x; ++x) {
                const std::array<double, 3> at{within(z, samples_.z), within(y, samples_.y),
                                               within(x, samples_.x)};
                SampleRow row{object_, begin, step_, share_};
                for (std::size_t a = 0; a < 3; ++a)
                    for (std::size_t b = 0; b < 3; ++b) row.begin[a] += map_.matrix[a][b] * at[b];
                visit(row);
            }
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
void ViewSampling::sample_row(const T* object, index_t z, index_t y, T* out) const {
    std::fill_n(out, grid_.x, T{0});
    if (is_shift_) {
        const RowInObject inside = row_in_object(z, y);
        std::copy_n(object + inside.at, inside.count, out + inside.first);
        return;
    }
    for_each_sample(z, y, [&](const SampleRow& samples) {
        gather_samples(samples, samples_near(samples, {{}, object_}), object, out);
    });
}

template <class T>
void ViewSampling::sample(const T* object, T* grid, int threads) const {
    if (planes_) return planes_->sample(object, grid, threads);
    // Rows of a block are near each other in the object, and so in the cache.
    constexpr index_t planes = 16, rows = 8;
    const index_t blocks_y = ceil_div(grid_.y, rows);
    parallel_for(ceil_div(grid_.z, planes) * blocks_y, threads, [&](index_t block, int) {
        const index_t first_z = block / blocks_y * planes, first_y = block % blocks_y * rows;
        for (index_t z = first_z; z < std::min(first_z + planes, grid_.z); ++z)
            for (index_t y = first_y; y < std::min(first_y + rows, grid_.y); ++y)
                sample_row(object, z, y, grid + (z * grid_.y + y) * grid_.x);
    });
}

IndexRange ViewSampling::samples_near(const SampleRow& row, const Box3& part) const {
    IndexRange near{0, grid_.x};
    const auto length = static_cast<double>(grid_.x);
    for (std::size_t a = 0; a < 3; ++a) {
        const int axis = static_cast<int>(a);
        const auto low = static_cast<double>(part.begin[axis] - 1);
        const auto high = static_cast<double>(part.end[axis]);
        const double begin = row.begin[a], step = row.step[a];
        if (std::abs(step) * length < rounding) {  // the row has one position
            if (begin < low - 1 || begin > high + 1) return {};
            continue;
        }
        double from = (low - begin) / step, to = (high - begin) / step;
        if (from > to) std::swap(from, to);
        // One more on each side, as quotients are rounded.
        near = near.within({static_cast<index_t>(std::clamp(std::floor(from) - 1, 0.0, length)),
                            static_cast<index_t>(std::clamp(std::ceil(to) + 2, 0.0, length))});
        if (near.count() == 0) break;
    }
    return near;
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
            for_each_sample(k / grid_.y, k % grid_.y, [&](const SampleRow& samples) {
                scatter_samples(samples, samples_near(samples, part), part, grid + k * grid_.x,
                                object);
            });
        }
    });
}

template void ViewSampling::sample(const float*, float*, int) const;
template void ViewSampling::sample(const double*, double*, int) const;
template void ViewSampling::add_back(const float*, float*, int) const;
template void ViewSampling::add_back(const double*, double*, int) const;

}  // namespace convolume::forward
