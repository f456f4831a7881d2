// SPDX-License-Identifier: Apache-2.0
#pragma once
// Views of 3D arrays in memory, which callers pass in: pixel type, shape and strides. Also the
// pixel types, and the dispatch from a run-time type to a C++ type.

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "convolume/error.hpp"
#include "convolume/export.hpp"
#include "convolume/shape.hpp"

namespace convolume {

enum class PixelType {
    uint8,
    int8,
    uint16,
    int16,
    uint32,
    int32,
    float32,
    float64,
    complex64,   ///< two float32: real, imaginary
    complex128,  ///< two float64: real, imaginary
};

/// Bytes of one element.
CONVOLUME_API std::size_t size_of(PixelType type);
/// "uint16", "float32", … as in NumPy.
CONVOLUME_API const char* to_string(PixelType type);
/// The type with that name; throws InvalidArgument that lists the names otherwise.
CONVOLUME_API PixelType parse_pixel_type(std::string_view name);

CONVOLUME_API bool is_complex(PixelType type);
CONVOLUME_API bool is_integer(PixelType type);

template <class T>
struct pixel_type_of;
template <>
struct pixel_type_of<std::uint8_t> {
    static constexpr auto value = PixelType::uint8;
};
template <>
struct pixel_type_of<std::int8_t> {
    static constexpr auto value = PixelType::int8;
};
template <>
struct pixel_type_of<std::uint16_t> {
    static constexpr auto value = PixelType::uint16;
};
template <>
struct pixel_type_of<std::int16_t> {
    static constexpr auto value = PixelType::int16;
};
template <>
struct pixel_type_of<std::uint32_t> {
    static constexpr auto value = PixelType::uint32;
};
template <>
struct pixel_type_of<std::int32_t> {
    static constexpr auto value = PixelType::int32;
};
template <>
struct pixel_type_of<float> {
    static constexpr auto value = PixelType::float32;
};
template <>
struct pixel_type_of<double> {
    static constexpr auto value = PixelType::float64;
};
template <>
struct pixel_type_of<std::complex<float>> {
    static constexpr auto value = PixelType::complex64;
};
template <>
struct pixel_type_of<std::complex<double>> {
    static constexpr auto value = PixelType::complex128;
};
template <class T>
inline constexpr PixelType pixel_type_of_v = pixel_type_of<T>::value;

template <class T>
struct type_tag {
    using type = T;
};

/// Calls `f(type_tag<T>{})` with the C++ type of `type`, and returns what it returns.
template <class F>
decltype(auto) visit_pixel_type(PixelType type, F&& f) {
    switch (type) {
        case PixelType::uint8:
            return std::forward<F>(f)(type_tag<std::uint8_t>{});
        case PixelType::int8:
            return std::forward<F>(f)(type_tag<std::int8_t>{});
        case PixelType::uint16:
            return std::forward<F>(f)(type_tag<std::uint16_t>{});
        case PixelType::int16:
            return std::forward<F>(f)(type_tag<std::int16_t>{});
        case PixelType::uint32:
            return std::forward<F>(f)(type_tag<std::uint32_t>{});
        case PixelType::int32:
            return std::forward<F>(f)(type_tag<std::int32_t>{});
        case PixelType::float32:
            return std::forward<F>(f)(type_tag<float>{});
        case PixelType::float64:
            return std::forward<F>(f)(type_tag<double>{});
        case PixelType::complex64:
            return std::forward<F>(f)(type_tag<std::complex<float>>{});
        case PixelType::complex128:
            return std::forward<F>(f)(type_tag<std::complex<double>>{});
    }
    throw InternalError("a pixel type outside its enumeration");
}

/// A read-only 3D array somewhere in memory. Strides are in elements and may be zero or negative.
struct CONVOLUME_API ConstImageView {
    const void* data = nullptr;
    PixelType type = PixelType::float32;
    Shape3 shape;
    Index3 strides;

    /// Address of element (z, y, x).
    const void* at(index_t z, index_t y, index_t x) const {
        return static_cast<const char*>(data) + (z * strides.z + y * strides.y + x * strides.x) *
                                                    static_cast<index_t>(size_of(type));
    }
};

/// The same, writable.
struct CONVOLUME_API ImageView {
    void* data = nullptr;
    PixelType type = PixelType::float32;
    Shape3 shape;
    Index3 strides;

    void* at(index_t z, index_t y, index_t x) const {
        return static_cast<char*>(data) + (z * strides.z + y * strides.y + x * strides.x) *
                                              static_cast<index_t>(size_of(type));
    }
    operator ConstImageView() const { return {data, type, shape, strides}; }
};

/// View of contiguous memory in C order.
template <class T>
auto view_of(T* data, const Shape3& shape) {
    using View = std::conditional_t<std::is_const_v<T>, ConstImageView, ImageView>;
    return View{data, pixel_type_of_v<std::remove_const_t<T>>, shape, contiguous_strides(shape)};
}

/// The part of `view` inside `box`, which must lie within the view's shape.
CONVOLUME_API ConstImageView subview(const ConstImageView& view, const Box3& box);
CONVOLUME_API ImageView subview(const ImageView& view, const Box3& box);

/// Whether elements follow each other in C order without gaps.
CONVOLUME_API bool is_contiguous(const ConstImageView& view);

/// Whether the bytes from the first to the last element of `a` and `b` meet.
CONVOLUME_API bool overlap(const ConstImageView& a, const ConstImageView& b);

/// Values that did not fit an integer type.
struct ClampCount {
    index_t low = 0;   ///< below its range; NaN, which becomes 0, counts here
    index_t high = 0;  ///< above it
    ClampCount& operator+=(const ClampCount& other) {
        low += other.low;
        high += other.high;
        return *this;
    }
};

/// Copies an image into one of another type: integers are rounded half to even and clamped. Throws
/// InvalidArgument for different shapes, for complex into real, for null pointers, and where the
/// images overlap() and are not the same elements of types as large.
CONVOLUME_API ClampCount convert_pixels(const ConstImageView& from, const ImageView& to,
                                        int threads = 1);

/// A sample of an image that is NaN or infinite, where such samples are refused. Callers that have
/// passed a part of an image can catch it and throw at(place) with the place in the whole image.
class CONVOLUME_API NonfiniteSample : public BadData {
  public:
    struct Place {
        Index3 index{};       ///< z, y, x
        index_t frame = 0;    ///< from 0
        index_t channel = 0;  ///< from 0
        /// The image has several channels or times: the message names frame and channel.
        bool of_several = false;
    };

    /// `cure` ends the message.
    NonfiniteSample(double value, const Place& place, const std::string& cure);

    const Place& place() const { return place_; }
    /// Returns the error for the same sample, counted otherwise.
    NonfiniteSample at(const Place& place) const { return {value_, place, cure_}; }

  private:
    double value_;
    Place place_;
    std::string cure_;
};

}  // namespace convolume
