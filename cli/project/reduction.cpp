// SPDX-License-Identifier: Apache-2.0
#include "cli/project/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

template <class T>
constexpr T lowest_value() {
    if constexpr (std::is_floating_point_v<T>)
        return -std::numeric_limits<T>::infinity();
    else
        return std::numeric_limits<T>::lowest();
}

struct KeepLargest {
    template <class T>
    static void apply(T& result, T value) {
        if constexpr (std::is_floating_point_v<T>) {
            if (value > result || std::isnan(value)) result = value;
        } else {
            result = std::max(result, value);
        }
    }
};

struct AddToSum {
    template <class T>
    static void apply(double& result, T value) {
        result += static_cast<double>(value);
    }
};

/// Applies an operation to every sample of `box` and its result. Results have stride 0 along the
/// axis of the projection.
template <class Operation, class Result, class T>
void reduce(const ConstImageView& box, Result* results, const Index3& strides) {
    for (index_t z = 0; z < box.shape.z; ++z)
        for (index_t y = 0; y < box.shape.y; ++y) {
            const T* row = static_cast<const T*>(box.at(z, y, 0));
            Result* target = results + z * strides.z + y * strides.y;
            if (strides.x == 1) {
                for (index_t x = 0; x < box.shape.x; ++x)
                    Operation::apply(target[x], row[x * box.strides.x]);
            } else {
                Result one = *target;
                for (index_t x = 0; x < box.shape.x; ++x)
                    Operation::apply(one, row[x * box.strides.x]);
                *target = one;
            }
        }
}

template <class F>
void visit_real_type(PixelType type, F&& f) {
    visit_pixel_type(type, [&](auto tag) {
        if constexpr (std::is_arithmetic_v<typename decltype(tag)::type>)
            f(tag);
        else
            throw InternalError("a projection of complex samples");
    });
}

}  // namespace

const char* to_string(ProjectionKind by) {
    return by == ProjectionKind::max ? "max" : by == ProjectionKind::mean ? "mean" : "sum";
}

ProjectionKind parse_project_by(std::string_view name) {
    for (const ProjectionKind by : {ProjectionKind::max, ProjectionKind::mean, ProjectionKind::sum})
        if (name == to_string(by)) return by;
    throw InvalidArgument(message("\"", name, "\" is no projection; choose max, mean or sum"));
}

Shape3 without_axis(const Shape3& shape, int axis) {
    if (axis == 0) return {1, shape.y, shape.x};
    return {1, shape.z, axis == 1 ? shape.x : shape.y};
}

PixelType projected_type(ProjectionKind by, PixelType image) {
    return by == ProjectionKind::max ? image : PixelType::float32;
}

Reduction::Reduction(ProjectionKind by, int axis, const Shape3& largest, PixelType image)
    : by_(by),
      axis_(axis),
      values_(without_axis(largest, axis), by == ProjectionKind::max ? image : PixelType::float64),
      rounded_(by == ProjectionKind::max ? Shape3{} : values_.shape(), PixelType::float32) {}

void Reduction::begin(const Shape3& region) {
    region_ = region;
    const index_t count = element_count(without_axis(region, axis_));
    visit_real_type(values_.type(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        std::fill_n(values_.elements<T>(), count,
                    by_ == ProjectionKind::max ? lowest_value<T>() : T{0});
    });
}

void Reduction::add(const ConstImageView& box, const Index3& offset) {
    // The region without the axis has the memory layout of the result.
    Shape3 flat = region_;
    flat[axis_] = 1;
    Index3 strides = contiguous_strides(flat);
    strides[axis_] = 0;
    const index_t first = offset.z * strides.z + offset.y * strides.y + offset.x * strides.x;
    visit_real_type(box.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if (by_ == ProjectionKind::max)
            reduce<KeepLargest, T, T>(box, values_.elements<T>() + first, strides);
        else
            reduce<AddToSum, double, T>(box, values_.elements<double>() + first, strides);
    });
}

ConstImageView Reduction::result() {
    const Shape3 shape = without_axis(region_, axis_);
    const ConstImageView values{values_.view().data, values_.type(), shape,
                                contiguous_strides(shape)};
    if (by_ == ProjectionKind::max) return values;
    if (by_ == ProjectionKind::mean) {
        auto* sums = values_.elements<double>();
        const auto samples = static_cast<double>(region_[axis_]);
        for (index_t i = 0; i < element_count(shape); ++i) sums[i] /= samples;
    }
    const ImageView rounded{rounded_.view().data, rounded_.type(), shape,
                            contiguous_strides(shape)};
    static_cast<void>(convert_pixels(values, rounded));
    return rounded;
}

}  // namespace convolume::cli
