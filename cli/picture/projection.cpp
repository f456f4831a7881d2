// SPDX-License-Identifier: Apache-2.0
#include "cli/picture/projection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/order_statistics.hpp"

namespace convolume::cli {

namespace {

// The value of pixels along whose line there is no number; drawn black.
constexpr float no_value = std::numeric_limits<float>::lowest();

// The source samples, and their weights, of one sample of a resampled axis.
struct ResamplingTaps {
    index_t begin = 0;
    std::vector<double> weights;
};

std::vector<ResamplingTaps> triangle_taps(index_t source, index_t target) {
    const double step = static_cast<double>(source) / static_cast<double>(target);
    const double reach = std::max(1.0, step);
    std::vector<ResamplingTaps> all(static_cast<std::size_t>(target));
    for (index_t i = 0; i < target; ++i) {
        const double center = (static_cast<double>(i) + 0.5) * step - 0.5;
        const auto begin = static_cast<index_t>(std::ceil(center - reach));
        const auto end = static_cast<index_t>(std::floor(center + reach)) + 1;
        ResamplingTaps& taps = all[static_cast<std::size_t>(i)];
        taps.begin = std::max<index_t>(begin, 0);
        double sum = 0;
        for (index_t s = taps.begin; s < std::min(end, source); ++s) {
            const double weight =
                std::max(0.0, 1 - std::abs(static_cast<double>(s) - center) / reach);
            taps.weights.push_back(weight);
            sum += weight;
        }
        for (double& weight : taps.weights) weight /= sum;
    }
    return all;
}

FloatPlane resample_columns(const FloatPlane& plane, index_t columns) {
    const std::vector<ResamplingTaps> all = triangle_taps(plane.columns, columns);
    FloatPlane result(plane.rows, columns, 0);
    for (index_t row = 0; row < plane.rows; ++row)
        for (index_t column = 0; column < columns; ++column) {
            const ResamplingTaps& taps = all[static_cast<std::size_t>(column)];
            double sum = 0;
            for (std::size_t k = 0; k < taps.weights.size(); ++k)
                sum += taps.weights[k] * plane.at(row, taps.begin + static_cast<index_t>(k));
            result.at(row, column) = static_cast<float>(sum);
        }
    return result;
}

FloatPlane transpose(const FloatPlane& plane) {
    FloatPlane result(plane.columns, plane.rows, 0);
    for (index_t row = 0; row < plane.rows; ++row)
        for (index_t column = 0; column < plane.columns; ++column)
            result.at(column, row) = plane.at(row, column);
    return result;
}

}  // namespace

FloatPlane::FloatPlane(index_t row_count, index_t column_count, float value)
    : rows(row_count),
      columns(column_count),
      values(static_cast<std::size_t>(checked_multiply(row_count, column_count)), value) {}

OrthogonalViews::OrthogonalViews(const Shape3& shape)
    : along_z(shape.y, shape.x, no_value),
      along_y(shape.z, shape.x, no_value),
      along_x(shape.y, shape.z, no_value) {}

void Projections::add(const ConstImageView& planes, index_t z_begin) {
    const Shape3 shape = planes.shape;
    visit_pixel_type(planes.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (index_t z = 0; z < shape.z; ++z)
            for (index_t y = 0; y < shape.y; ++y) {
                const T* row = static_cast<const T*>(planes.at(z, y, 0));
                float& row_maximum = along_x.at(y, z_begin + z);
                for (index_t x = 0; x < shape.x; ++x) {
                    const auto value =
                        static_cast<float>(real_or_magnitude(row[x * planes.strides.x]));
                    float& above = along_z.at(y, x);
                    float& across = along_y.at(z_begin + z, x);
                    if (value > above) above = value;
                    if (value > across) across = value;
                    if (value > row_maximum) row_maximum = value;
                }
            }
    });
}

void Slices::add(const ConstImageView& planes, index_t z_begin) {
    const Shape3 shape = planes.shape;
    const index_t middle_y = shape.y / 2, middle_x = shape.x / 2;
    visit_pixel_type(planes.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        const auto value = [&](index_t z, index_t y, index_t x) {
            return static_cast<float>(
                real_or_magnitude(*static_cast<const T*>(planes.at(z, y, x))));
        };
        for (index_t z = 0; z < shape.z; ++z) {
            for (index_t x = 0; x < shape.x; ++x)
                along_y.at(z_begin + z, x) = value(z, middle_y, x);
            for (index_t y = 0; y < shape.y; ++y)
                along_x.at(y, z_begin + z) = value(z, y, middle_x);
            if (z_begin + z != plane) continue;
            for (index_t y = 0; y < shape.y; ++y)
                for (index_t x = 0; x < shape.x; ++x) along_z.at(y, x) = value(z, y, x);
        }
    });
}

void replace_by_logarithm(OrthogonalViews& views) {
    for (FloatPlane* plane : {&views.along_z, &views.along_y, &views.along_x})
        for (float& value : plane->values)
            // The lowest float would spread over its neighbors when the plane is resampled.
            value = value > 0 ? std::log10(value) : -38.0F;
}

FloatPlane resample(const FloatPlane& plane, index_t rows, index_t columns) {
    const FloatPlane across = resample_columns(plane, columns);
    return transpose(resample_columns(transpose(across), rows));
}

GrayLimits percentile_limits(const FloatPlane& plane, double low_percent, double high_percent) {
    std::vector<float> values;
    for (const float value : plane.values)
        if (std::isfinite(value) && value > no_value) values.push_back(value);
    if (values.empty()) return {0, 1};
    const auto percentile = [&values](double percent) {
        const double last = static_cast<double>(values.size() - 1);
        const auto rank = static_cast<std::size_t>(std::llround(last * percent / 100));
        return static_cast<double>(value_of_rank(values, rank));
    };
    const double low = percentile(low_percent);
    const double high = percentile(high_percent);
    return {low, high > low ? high : low + 1};
}

}  // namespace convolume::cli
