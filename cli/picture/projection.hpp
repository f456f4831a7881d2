// SPDX-License-Identifier: Apache-2.0
#pragma once
// Views of a stack along its axes, resampled to the pixels of a picture.

#include <complex>
#include <vector>

#include "convolume/image_view.hpp"

namespace convolume::cli {

/// A 2D array of values in C order.
struct FloatPlane {
    index_t rows = 0;
    index_t columns = 0;
    std::vector<float> values;

    FloatPlane(index_t row_count, index_t column_count, float value);
    float& at(index_t row, index_t column) {
        return values[static_cast<std::size_t>(row * columns + column)];
    }
    float at(index_t row, index_t column) const {
        return values[static_cast<std::size_t>(row * columns + column)];
    }
};

/// One plane for the view along each axis; complex values count by magnitude.
struct OrthogonalViews {
    FloatPlane along_z;  ///< rows y, columns x
    FloatPlane along_y;  ///< rows z, columns x
    FloatPlane along_x;  ///< rows y, columns z

    /// Makes views without values. A stack is then added some planes at a time.
    explicit OrthogonalViews(const Shape3& shape);
};

/// The largest value along each axis; NaN is ignored.
struct Projections : OrthogonalViews {
    using OrthogonalViews::OrthogonalViews;
    void add(const ConstImageView& planes, index_t z_begin);
};

/// The planes through voxel y/2, x/2 and the given plane along z.
struct Slices : OrthogonalViews {
    Slices(const Shape3& shape, index_t z) : OrthogonalViews(shape), plane(z) {}
    index_t plane;
    void add(const ConstImageView& planes, index_t z_begin);
};

/// Replaces every value by its decimal logarithm. Values that are not above 0 become black.
void replace_by_logarithm(OrthogonalViews& views);

/// Resamples a plane: interpolates linearly along a side that grows, and computes means weighted by
/// distance along a side that shrinks.
FloatPlane resample(const FloatPlane& plane, index_t rows, index_t columns);

/// The values that are drawn black and white.
struct GrayLimits {
    double low;   ///< value drawn black
    double high;  ///< value drawn white, above `low`
};
/// Returns two percentiles of the plane's finite values.
GrayLimits percentile_limits(const FloatPlane& plane, double low_percent, double high_percent);

/// Returns a pixel as one real number; for a complex pixel, its magnitude.
template <class T>
double real_or_magnitude(T value) {
    return static_cast<double>(value);
}
template <class T>
double real_or_magnitude(std::complex<T> value) {
    return static_cast<double>(std::abs(value));
}

}  // namespace convolume::cli
