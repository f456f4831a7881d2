// SPDX-License-Identifier: Apache-2.0
#pragma once
// Views of a stack along its axes, resampled to the pixels of a picture.

#include <array>
#include <complex>
#include <vector>

#include "convolume/image_view.hpp"

namespace convolume::cli {

/// A 2D array in C order.
struct Plane {
    index_t rows = 0;
    index_t columns = 0;
    std::vector<float> values;

    Plane(index_t row_count, index_t column_count, float value);
    float& at(index_t row, index_t column) {
        return values[static_cast<std::size_t>(row * columns + column)];
    }
    float at(index_t row, index_t column) const {
        return values[static_cast<std::size_t>(row * columns + column)];
    }
};

/// One plane along each axis; complex values count by magnitude.
struct OrthogonalViews {
    Plane along_z;  ///< rows y, columns x
    Plane along_y;  ///< rows z, columns x
    Plane along_x;  ///< rows y, columns z

    /// Starts without a value; a stack is then added some planes at a time.
    explicit OrthogonalViews(const Shape3& shape);
};

/// The largest value along each axis; NaN is passed over.
struct Projections : OrthogonalViews {
    using OrthogonalViews::OrthogonalViews;
    void add(const ConstImageView& planes, index_t z_begin);
};

/// The planes through voxel z/2, y/2, x/2.
struct MiddleSlices : OrthogonalViews {
    using OrthogonalViews::OrthogonalViews;
    void add(const ConstImageView& planes, index_t z_begin);
};

/// Every value's decimal logarithm; what is not above 0 becomes as dark as can be.
void take_logarithm(OrthogonalViews& views);

/// Linear interpolation where a side grows, means weighted by distance where it shrinks.
Plane resample(const Plane& plane, index_t rows, index_t columns);

struct GrayLimits {
    double low;   ///< drawn black
    double high;  ///< drawn white, above `low`
};
/// The values below which `low` and `high` per cent of the plane's finite values lie.
GrayLimits percentile_limits(const Plane& plane, double low_percent, double high_percent);

/// A pixel as one real number: complex pixels by their magnitude.
template <class T>
double real_or_magnitude(T value) {
    return static_cast<double>(value);
}
template <class T>
double real_or_magnitude(std::complex<T> value) {
    return static_cast<double>(std::abs(value));
}

}  // namespace convolume::cli
