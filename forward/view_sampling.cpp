// SPDX-License-Identifier: Apache-2.0
#include "forward/view_sampling.hpp"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "convolume/error.hpp"
#include "core/threads.hpp"

namespace convolume::forward {

// Returns the extent of boxes of cells along an axis along which samples of a row are `step` apart.
// Usual boxes fit in the cache of a core. They are up to four times as long where a row would have
// fewer samples in them than are computed together.
static index_t box_extent(int axis, index_t object, double step) {
    constexpr Shape3 usual{16, 16, 64};
    const auto wanted = static_cast<index_t>(static_cast<double>(lanes) * std::abs(step));
    return std::min(object, std::clamp(wanted, usual[axis], 4 * usual[axis]));
}

ViewSampling::ViewSampling(const Shape3& object, const Shape3& grid, const VoxelMap& map)
    : object_(object), grid_(grid), map_(map), back_(inverse(map)) {
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
        const bool is_flat = std::abs(step_[axis]) * static_cast<double>(grid.x) < rounding;
        per_voxel_[axis] = is_flat ? 0 : 1 / step_[axis];
        corner_box_[a] = box_extent(a, object[a], step_[axis]);
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
    for (int a = 0; a < 3; ++a) {
        const auto axis = static_cast<std::size_t>(a);
        const auto samples = static_cast<double>(samples_[a]);
        parameters.offset[a] = map_.offset[axis];
        parameters.samples[a] = samples_[a];
        parameters.reach[a] = 0.5 * (samples - 1) / samples;
        for (int b = 0; b < 3; ++b) {
            parameters.matrix[a][b] = map_.matrix[axis][static_cast<std::size_t>(b)];
            parameters.back[a][b] = back_.matrix[axis][static_cast<std::size_t>(b)];
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
    const auto length = static_cast<double>(grid_.x);
    double begin = 0, end = length;
    for (std::size_t a = 0; a < 3; ++a) {
        const int axis = static_cast<int>(a);
        const double low = static_cast<double>(part.begin[axis] - 1) - row.begin[a];
        const double high = static_cast<double>(part.end[axis]) - row.begin[a];
        if (per_voxel_[a] == 0) {  // the row has one position
            if (low > 1 || high < -1) return {};
            continue;
        }
        const double at_low = low * per_voxel_[a], at_high = high * per_voxel_[a];
        begin = std::max(begin, std::min(at_low, at_high));
        end = std::min(end, std::max(at_low, at_high));
    }
    if (begin > end + 1) return {};
    // One more on each side, as products are rounded.
    return {std::max<index_t>(0, static_cast<index_t>(begin) - 1),
            std::min(grid_.x, static_cast<index_t>(std::max(0.0, end)) + 2)};
}

Box3 ViewSampling::rows_near(const Box3& part) const {
    Box3 near;
    for (int a = 0; a < 3; ++a) {
        const auto axis = static_cast<std::size_t>(a);
        double middle = back_.offset[axis], reach = 0;
        for (std::size_t b = 0; b < 3; ++b) {
            const auto low = static_cast<double>(part.begin[static_cast<int>(b)] - 1);
            const auto high = static_cast<double>(part.end[static_cast<int>(b)]);
            middle += back_.matrix[axis][b] * (low + high) / 2;
            reach += std::abs(back_.matrix[axis][b]) * (high - low) / 2;
        }
        // Samples are at most half a voxel from the middle of theirs. Half a voxel more is for
        // rounding.
        const auto length = static_cast<double>(grid_[a]);
        near.begin[a] = static_cast<index_t>(std::clamp(middle - reach - 1, 0.0, length));
        near.end[a] = static_cast<index_t>(std::clamp(std::ceil(middle + reach + 2), 0.0, length));
    }
    return near;
}

index_t ViewSampling::bytes_of_thread(index_t element) const {
    if (planes_) return planes_->bytes_of_thread(element);
    const Index3 end{corner_box_.z, corner_box_.y, corner_box_.x};
    return is_shift_ ? 0 : CornerBox{{{}, end}}.sums() * element;
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
    // Each voxel gets its sums in the order of the grid's rows, by one thread.
    Shape3 boxes;
    for (int a = 0; a < 3; ++a) boxes[a] = ceil_div(object_[a], corner_box_[a]);
    std::vector<std::vector<T>> of_threads(static_cast<std::size_t>(threads));
    parallel_for(element_count(boxes), threads, [&](index_t i, int thread) {
        const Index3 number{i / (boxes.y * boxes.x), i / boxes.x % boxes.y, i % boxes.x};
        CornerBox box;
        for (int a = 0; a < 3; ++a) {
            box.voxels.begin[a] = number[a] * corner_box_[a];
            box.voxels.end[a] = std::min(object_[a], box.voxels.begin[a] + corner_box_[a]);
        }
        std::vector<T>& cells = of_threads[static_cast<std::size_t>(thread)];
        cells.assign(static_cast<std::size_t>(box.sums()), T{0});
        const Box3 rows = rows_near(box.voxels);
        for (index_t z = rows.begin.z; z < rows.end.z; ++z)
            for (index_t y = rows.begin.y; y < rows.end.y; ++y)
                for_each_sample(z, y, [&](const SampleRow& samples) {
                    const IndexRange range = samples_near(samples, box.voxels);
                    if (range.count() == 0) return;
                    const T* const row = grid + (z * grid_.y + y) * grid_.x;
                    // The next rows have samples of the box at nearly the same places. Rows are
                    // too short for the processor to load them in advance by itself.
                    for (index_t x = range.begin; x < range.end + lanes; x += lanes)
                        hwy::Prefetch(row + 4 * grid_.x + x);
                    scatter_samples(samples, range, box, row, cells.data());
                });
        add_cells(box, cells.data(), object_, object);
    });
}

template void ViewSampling::sample(const float*, float*, int) const;
template void ViewSampling::sample(const double*, double*, int) const;
template void ViewSampling::add_back(const float*, float*, int) const;
template void ViewSampling::add_back(const double*, double*, int) const;

}  // namespace convolume::forward
