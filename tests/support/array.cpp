// SPDX-License-Identifier: Apache-2.0
#include "tests/support/array.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace convolume::testing {
namespace {

template <class T>
inline constexpr bool is_complex_v = false;
template <class T>
inline constexpr bool is_complex_v<std::complex<T>> = true;

template <class T>
T cast(Complex value) {
    if constexpr (is_complex_v<T>)
        return {static_cast<typename T::value_type>(value.real()),
                static_cast<typename T::value_type>(value.imag())};
    else
        return static_cast<T>(value.real());
}

template <class Visit>
void for_each_position(const Shape3& shape, Visit&& visit) {
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) visit(z, y, x);
}

}  // namespace

Array to_array(const ConstImageView& view) {
    Array array(view.shape);
    visit_pixel_type(view.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        for_each_position(view.shape, [&](index_t z, index_t y, index_t x) {
            T value;
            std::memcpy(&value, view.at(z, y, x), sizeof value);
            if constexpr (is_complex_v<T>)
                array(z, y, x) = {static_cast<double>(value.real()),
                                  static_cast<double>(value.imag())};
            else
                array(z, y, x) = static_cast<double>(value);
        });
    });
    return array;
}

void store(const Array& array, const ImageView& view) {
    visit_pixel_type(view.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        for_each_position(view.shape, [&](index_t z, index_t y, index_t x) {
            const T value = cast<T>(array(z, y, x));
            std::memcpy(view.at(z, y, x), &value, sizeof value);
        });
    });
}

Volume to_volume(const Array& array, PixelType type) {
    Volume volume(array.shape, type);
    store(array, volume.view());
    return volume;
}

void poison(const ImageView& view) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    visit_pixel_type(view.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        T value;
        if constexpr (std::is_integral_v<T>)
            std::memset(&value, 0xAA, sizeof value);
        else
            value = cast<T>({nan, nan});
        for_each_position(view.shape, [&](index_t z, index_t y, index_t x) {
            std::memcpy(view.at(z, y, x), &value, sizeof value);
        });
    });
}

double norm(const Array& array) {
    long double sum = 0;
    for (const Complex& value : array.values) sum += std::norm(value);
    return static_cast<double>(std::sqrt(sum));
}

Complex inner_product(const Array& a, const Array& b) {
    std::complex<long double> sum = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i)
        sum += std::complex<long double>(a.values[i]) *
               std::conj(std::complex<long double>(b.values[i]));
    return {static_cast<double>(sum.real()), static_cast<double>(sum.imag())};
}

bool is_real(const Array& array) {
    for (const Complex& value : array.values)
        if (value.imag() != 0) return false;
    return true;
}

}  // namespace convolume::testing
