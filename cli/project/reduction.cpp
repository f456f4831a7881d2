// SPDX-License-Identifier: Apache-2.0
#include "cli/project/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace convolume::cli {

Shape3 without_axis(const Shape3& shape, int axis) {
    if (axis == 0) return {1, shape.y, shape.x};
    return {1, shape.z, axis == 1 ? shape.x : shape.y};
}

Reduction::Reduction(int axis, ProjectionKind by, const Shape3& box, const Shape3& region)
    : axis_(axis),
      by_(by),
      samples_(box, PixelType::float64),
      values_(without_axis(region, axis), PixelType::float64) {}

void Reduction::begin(const Shape3& region) {
    region_ = region;
    std::fill_n(values_.elements<double>(), element_count(without_axis(region, axis_)),
                is_max() ? -std::numeric_limits<double>::infinity() : 0);
}

void Reduction::add(const ConstImageView& box, const Index3& offset) {
    const ImageView samples = subview(samples_.view(), {{0, 0, 0}, box.shape});
    static_cast<void>(convert_pixels(box, samples));
    // The region without the axis has the memory layout of the result.
    Shape3 flat = region_;
    flat[axis_] = 1;
    Index3 strides = contiguous_strides(flat);
    strides[axis_] = 0;
    for (index_t z = 0; z < box.shape.z; ++z)
        for (index_t y = 0; y < box.shape.y; ++y) {
            const auto* row = static_cast<const double*>(samples.at(z, y, 0));
            double* result = values_.elements<double>() + (offset.z + z) * strides.z +
                             (offset.y + y) * strides.y;
            add_row(row, box.shape.x, result, strides.x);
        }
}

ConstImageView Reduction::result() {
    const Shape3 shape = without_axis(region_, axis_);
    auto* const values = values_.elements<double>();
    if (by_ == ProjectionKind::mean)
        std::transform(values, values + element_count(shape), values,
                       [&](double sum) { return sum / static_cast<double>(region_[axis_]); });
    return {values, PixelType::float64, shape, contiguous_strides(shape)};
}

// Adds the samples of a row to results at a distance of 1 or 0. Compilers vectorize the loops of
// distance 1.
void Reduction::add_row(const double* row, index_t samples, double* result,
                        index_t distance) const {
    if (distance == 0) {
        double one = *result;
        for (index_t x = 0; x < samples; ++x)
            if (!is_max())
                one += row[x];
            else if (row[x] > one || std::isnan(row[x]))
                one = row[x];
        *result = one;
    } else if (is_max()) {
        for (index_t x = 0; x < samples; ++x)
            result[x] = row[x] > result[x] || std::isnan(row[x]) ? row[x] : result[x];
    } else {
        for (index_t x = 0; x < samples; ++x) result[x] += row[x];
    }
}

}  // namespace convolume::cli
