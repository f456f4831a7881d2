// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/psf.hpp"
#include "core/threads.hpp"
#include "core/views.hpp"

namespace convolume {

namespace {

// Resampling along one axis, from the samples of the old kernel to those of the new one. Positions
// are in µm from the center.
class AxisResampling {
  public:
    AxisResampling(int axis, index_t count, index_t center, double from_um, double to_um)
        : old_count_(count), from_um_(from_um), to_um_(to_um) {
        if (!(from_um > 0) || !(to_um > 0) || !std::isfinite(from_um) || !std::isfinite(to_um))
            throw InvalidArgument(message("voxels of ", from_um, " and ", to_um, " µm along ",
                                          axis_name(axis),
                                          " are no sizes to resample between: give positive ones"));
        first_edge_um_ = (-static_cast<double>(center) - 0.5) * from_um;
        const double last_edge_um = first_edge_um_ + static_cast<double>(count) * from_um;
        // Half a voxel belongs to the center. A remainder of mere rounding needs no voxel.
        const auto voxels = [&](double reach_um) {
            const double needed = std::ceil(reach_um / to_um - 0.5 - 1e-9);
            if (needed > 1e9)
                throw InvalidArgument(message("resampled from ", from_um, " to ", to_um,
                                              " µm along ", axis_name(axis),
                                              ", the kernel would have ", needed,
                                              " samples: correct one of the voxel sizes"));
            return std::max<index_t>(0, static_cast<index_t>(needed));
        };
        new_center_ = voxels(-first_edge_um_);
        new_count_ = new_center_ + 1 + voxels(last_edge_um);
    }

    index_t old_count() const { return old_count_; }
    index_t new_count() const { return new_count_; }
    index_t new_center() const { return new_center_; }

    /// Reads old_count() values and writes new_count() values, either `stride` apart.
    void apply(const double* old, double* resampled, index_t stride) const {
        const std::vector<double> sums = running_sums(old, stride);
        const std::vector<double> slopes = spline_slopes(sums);
        double before = 0;
        for (index_t i = 0; i < new_count_; ++i) {
            const double edge_um = (static_cast<double>(i - new_center_) + 0.5) * to_um_;
            const double sum = i + 1 == new_count_ ? sums.back() : sum_to(edge_um, sums, slopes);
            resampled[i * stride] = sum - before;
            before = sum;
        }
    }

  private:
    std::vector<double> running_sums(const double* old, index_t stride) const {
        std::vector<double> sums{0};
        for (index_t i = 0; i < old_count_; ++i) sums.push_back(sums.back() + old[i * stride]);
        return sums;
    }

    // Returns the slopes d at the voxel edges, per voxel, of a cubic spline through the running
    // sums s. Its second derivatives are continuous:
    //
    //     d[j-1] + 4 d[j] + d[j+1] = 3 (s[j+1] - s[j-1])
    //
    // These equations are solved by elimination. The outermost slopes are those of the outermost
    // voxels.
    std::vector<double> spline_slopes(const std::vector<double>& sums) const {
        const std::size_t last = sums.size() - 1;
        std::vector<double> slopes(sums.size()), weight(sums.size());
        slopes[0] = sums[1] - sums[0];
        slopes[last] = sums[last] - sums[last - 1];
        for (std::size_t j = 1; j < last; ++j) {
            weight[j] = 1 / (4 - weight[j - 1]);
            slopes[j] = (3 * (sums[j + 1] - sums[j - 1]) - slopes[j - 1]) * weight[j];
        }
        for (std::size_t j = last; j-- > 1;) slopes[j] -= weight[j] * slopes[j + 1];
        return slopes;
    }

    double sum_to(double edge_um, const std::vector<double>& sums,
                  const std::vector<double>& slopes) const {
        const double position = (edge_um - first_edge_um_) / from_um_;
        if (position <= 0) return 0;
        if (position >= static_cast<double>(old_count_)) return sums.back();
        const auto j = static_cast<std::size_t>(position);
        const double u = position - static_cast<double>(j), v = 1 - u;
        return sums[j] * v * v * (1 + 2 * u) + sums[j + 1] * u * u * (1 + 2 * v) +
               slopes[j] * u * v * v - slopes[j + 1] * u * u * v;
    }

    index_t old_count_;
    double from_um_, to_um_;
    double first_edge_um_ = 0;
    index_t new_count_ = 0, new_center_ = 0;
};

Volume as_double(const ConstImageView& kernel) {
    if (is_complex(kernel.type))
        throw InvalidArgument(
            "a complex kernel cannot be resampled: store it at the image's voxel size");
    Volume copy(kernel.shape, PixelType::float64);
    convert_pixels(kernel, copy.view(), 0);
    return copy;
}

Volume resample_axis(const Volume& old, int axis, const AxisResampling& resampling) {
    Shape3 shape = old.shape();
    shape[axis] = resampling.new_count();
    Volume resampled(shape, PixelType::float64);
    // Lines along the axis are `outer` groups of `stride` neighboring lines.
    const index_t stride = contiguous_strides(shape)[axis];
    const index_t lines = element_count(shape) / shape[axis];
    const double* const source = old.elements<double>();
    double* const target = resampled.elements<double>();
    parallel_for(lines, thread_count(0), [&](index_t line, int) {
        const index_t outer = line / stride, inner = line % stride;
        resampling.apply(source + outer * stride * resampling.old_count() + inner,
                         target + outer * stride * resampling.new_count() + inner, stride);
    });
    return resampled;
}

// Sets negative values to zero: the spline swings a little below zero beside steep flanks. The
// other values are scaled so that the sum stays the same.
void remove_negatives(Volume& values) {
    double* const elements = values.elements<double>();
    const auto count = static_cast<std::size_t>(element_count(values.shape()));
    const index_t planes = values.shape().z;
    const std::size_t plane = count / static_cast<std::size_t>(planes);
    std::vector<std::array<double, 2>> sums(static_cast<std::size_t>(planes));  // all, and kept
    parallel_for(planes, thread_count(0), [&](index_t z, int) {
        auto& [sum, kept] = sums[static_cast<std::size_t>(z)];
        double* const first = elements + static_cast<std::size_t>(z) * plane;
        for (double* value = first; value < first + plane; ++value) {
            sum += *value;
            *value = std::max(*value, 0.0);
            kept += *value;
        }
    });
    double sum = 0, kept = 0;
    for (const auto& of_plane : sums) {
        sum += of_plane[0];
        kept += of_plane[1];
    }
    if (kept > 0)
        parallel_for(planes, thread_count(0), [&](index_t z, int) {
            double* const first = elements + static_cast<std::size_t>(z) * plane;
            for (double* value = first; value < first + plane; ++value) *value *= sum / kept;
        });
}

}  // namespace

Shape3 resampled_shape(const Shape3& kernel, const Index3& center, const VoxelSize& from,
                       const VoxelSize& to) {
    Shape3 shape = kernel;
    for (int axis = 0; axis < 3; ++axis)
        if (from[axis] != to[axis])
            shape[axis] =
                AxisResampling(axis, kernel[axis], center[axis], from[axis], to[axis]).new_count();
    return shape;
}

index_t resampling_bytes(const Shape3& kernel, PixelType type, const Index3& center,
                         const VoxelSize& from, const VoxelSize& to) {
    const auto bytes_of = [](const Shape3& shape, PixelType pixels) {
        return Buffer::rounded_bytes(
            checked_multiply(element_count(shape), static_cast<index_t>(size_of(pixels))));
    };
    const Shape3 resampled = resampled_shape(kernel, center, from, to);
    Shape3 shape = kernel;
    index_t now = bytes_of(shape, PixelType::float64);
    index_t peak = now;
    for (int axis = 0; axis < 3; ++axis) {
        if (from[axis] == to[axis]) continue;
        shape[axis] = resampled[axis];
        const index_t next = bytes_of(shape, PixelType::float64);
        peak = std::max(peak, checked_add(now, next));
        now = next;
    }
    if (type != PixelType::float64)
        peak = std::max(peak, checked_add(now, bytes_of(shape, PixelType::float32)));
    return peak;
}

ResampledKernel resample_kernel(const ConstImageView& kernel, const Index3& center,
                                const VoxelSize& from, const VoxelSize& to) {
    check_memory(kernel, "the kernel");
    Volume values = as_double(kernel);
    const double* const given = values.elements<double>();
    const bool negative =
        std::any_of(given, given + element_count(kernel.shape), [](double v) { return v < 0; });
    ResampledKernel result;
    for (int axis = 0; axis < 3; ++axis) {
        if (kernel.shape[axis] < 1 || center[axis] < 0 || center[axis] >= kernel.shape[axis])
            throw InvalidArgument(message("the kernel's center ", center[axis], " along ",
                                          axis_name(axis), " lies outside its ", kernel.shape[axis],
                                          " samples: give one inside"));
        const AxisResampling resampling(axis, kernel.shape[axis], center[axis], from[axis],
                                        to[axis]);
        result.center[axis] = resampling.new_center();
        if (from[axis] != to[axis]) values = resample_axis(values, axis, resampling);
    }
    if (!negative) remove_negatives(values);
    if (kernel.type == PixelType::float64) {
        result.values = std::move(values);
        return result;
    }
    result.values = Volume(values.shape(), PixelType::float32);
    convert_pixels(values.view(), result.values.view(), 0);
    return result;
}

}  // namespace convolume
