// SPDX-License-Identifier: Apache-2.0
#pragma once
// A 3D array for tests: complex double in C order, filled from and compared with any image view.

#include <complex>
#include <vector>

#include "convolume/options.hpp"
#include "convolume/volume.hpp"

namespace convolume::testing {

using Complex = std::complex<double>;

/// Bytes of a MiB.
inline constexpr index_t mib = index_t{1} << 20;

struct Array {
    Shape3 shape;
    std::vector<Complex> values;

    Array() = default;
    explicit Array(const Shape3& extents)
        : shape(extents), values(static_cast<std::size_t>(extents.z * extents.y * extents.x)) {}

    index_t count() const { return static_cast<index_t>(values.size()); }
    Complex& operator()(index_t z, index_t y, index_t x) {
        return values[static_cast<std::size_t>((z * shape.y + y) * shape.x + x)];
    }
    const Complex& operator()(index_t z, index_t y, index_t x) const {
        return values[static_cast<std::size_t>((z * shape.y + y) * shape.x + x)];
    }
};

/// Returns every element of a view, of any type and strides.
Array to_array(const ConstImageView& view);

/// Copies the elements of `array` to the samples of `view`, converted to its type. Imaginary parts
/// are dropped if that type is real.
void store(const Array& array, const ImageView& view);

/// Returns a contiguous volume with the array's values.
Volume to_volume(const Array& array, PixelType type);

/// Fills memory with a pattern that no result has by chance: NaN for floats, 0xAA bytes for
/// integers.
void poison(const ImageView& view);

/// Returns the floating-point pixel type of `precision`, real or complex.
constexpr PixelType pixel_type(Precision precision, bool complex) {
    if (precision == Precision::float32) return complex ? PixelType::complex64 : PixelType::float32;
    return complex ? PixelType::complex128 : PixelType::float64;
}

double norm(const Array& array);                        ///< L2 norm
Complex inner_product(const Array& a, const Array& b);  ///< sum of a conj(b)
bool is_real(const Array& array);

}  // namespace convolume::testing
