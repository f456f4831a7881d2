// SPDX-License-Identifier: Apache-2.0
#pragma once
// Views of 3D arrays in the caller's memory: pixel type, shape and strides. Also the pixel types,
// and the dispatch from a run-time type to a C++ type.

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "convolume/error.hpp"
#include "convolume/export.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// Type of the elements of an array.
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

/// Returns the number of bytes of one element.
CONVOLUME_API std::size_t size_of(PixelType type);
/// Returns NumPy's name of the type, such as "uint16" or "float32".
CONVOLUME_API const char* to_string(PixelType type);
/// Parses a name that to_string() returns. Throws InvalidArgument, which lists the names, for
/// others.
CONVOLUME_API PixelType parse_pixel_type(std::string_view name);

/// Returns whether elements have a real and an imaginary part.
CONVOLUME_API bool is_complex(PixelType type);
/// Returns whether elements are integers, signed or not.
CONVOLUME_API bool is_integer(PixelType type);

/// The PixelType of the C++ type T, as `value`; defined for the types of the list above alone.
template <class T>
struct pixel_type_of;
template <>
struct pixel_type_of<std::uint8_t> : std::integral_constant<PixelType, PixelType::uint8> {};
template <>
struct pixel_type_of<std::int8_t> : std::integral_constant<PixelType, PixelType::int8> {};
template <>
struct pixel_type_of<std::uint16_t> : std::integral_constant<PixelType, PixelType::uint16> {};
template <>
struct pixel_type_of<std::int16_t> : std::integral_constant<PixelType, PixelType::int16> {};
template <>
struct pixel_type_of<std::uint32_t> : std::integral_constant<PixelType, PixelType::uint32> {};
template <>
struct pixel_type_of<std::int32_t> : std::integral_constant<PixelType, PixelType::int32> {};
template <>
struct pixel_type_of<float> : std::integral_constant<PixelType, PixelType::float32> {};
template <>
struct pixel_type_of<double> : std::integral_constant<PixelType, PixelType::float64> {};
template <>
struct pixel_type_of<std::complex<float>>
    : std::integral_constant<PixelType, PixelType::complex64> {};
template <>
struct pixel_type_of<std::complex<double>>
    : std::integral_constant<PixelType, PixelType::complex128> {};
/// The PixelType of the C++ type T.
template <class T>
inline constexpr PixelType pixel_type_of_v = pixel_type_of<T>::value;

/// An empty object that carries the type T to a generic function.
template <class T>
struct type_tag {
    using type = T;
};

/// Calls `f(type_tag<T>{})` with the C++ type T of `type`, and returns the result of that call.
/// @code{.cpp}
/// const std::size_t bytes = visit_pixel_type(PixelType::complex64, [](auto tag) {
///     using T = typename decltype(tag)::type;
///     return sizeof(T);
/// });
/// assert(bytes == size_of(PixelType::complex64));
/// @endcode
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

/// A read-only 3D array in memory that the caller owns. Axes are z, y, x. Strides are in elements
/// and may be zero or negative.
/// @code{.cpp}
/// const std::vector<float> pixels(64 * 256 * 256);
/// const ConstImageView image = view_of(pixels.data(), {64, 256, 256});
/// assert(&image.at<float>(63, 255, 255) == &pixels.back());
/// double sum = 0;
/// for (const float pixel : image.row<float>(63, 0)) sum += pixel;
/// assert(sum == 0);
/// @endcode
struct CONVOLUME_API ConstImageView {
    const void* data = nullptr;
    PixelType type = PixelType::float32;
    Shape3 shape;
    Index3 strides;

    /// Returns the address of element (z, y, x), without a check of the position.
    const void* at(index_t z, index_t y, index_t x) const {
        return static_cast<const char*>(data) + (z * strides.z + y * strides.y + x * strides.x) *
                                                    static_cast<index_t>(size_of(type));
    }
    /// Returns element (z, y, x). Throws InvalidArgument if T is not the type of the elements, or
    /// if the position is outside the shape. For loops over many elements, row() checks only once.
    template <class T>
    const T& at(index_t z, index_t y, index_t x) const {
        return *static_cast<const T*>(checked_element(pixel_type_of_v<T>, z, y, x));
    }
    /// Returns the elements of row (z, y). Throws InvalidArgument if T is not the type of the
    /// elements, if the row is outside the shape, or if elements along x are not adjacent.
    template <class T>
    std::span<const T> row(index_t z, index_t y) const {
        return {static_cast<const T*>(checked_row(pixel_type_of_v<T>, z, y)),
                static_cast<std::size_t>(shape.x)};
    }

  private:
    const void* checked_element(PixelType asked, index_t z, index_t y, index_t x) const;
    const void* checked_row(PixelType asked, index_t z, index_t y) const;
};

/// A writable 3D array in memory that the caller owns. Axes and strides are as in ConstImageView.
/// @code{.cpp}
/// std::vector<std::uint16_t> pixels(256 * 256);
/// const ImageView image = view_of(pixels.data(), {1, 256, 256});
/// const ImageView transposed{image.data, image.type, image.shape, {65536, 1, 256}};
/// transposed.at<std::uint16_t>(0, 3, 5) = 7;
/// assert(pixels[5 * 256 + 3] == 7);
/// std::ranges::fill(image.row<std::uint16_t>(0, 9), 1);
/// assert(pixels[9 * 256] == 1 && pixels[10 * 256] == 0);
/// @endcode
struct CONVOLUME_API ImageView {
    void* data = nullptr;
    PixelType type = PixelType::float32;
    Shape3 shape;
    Index3 strides;

    /// Returns the address of element (z, y, x), without a check of the position.
    void* at(index_t z, index_t y, index_t x) const {
        return static_cast<char*>(data) + (z * strides.z + y * strides.y + x * strides.x) *
                                              static_cast<index_t>(size_of(type));
    }
    /// Returns element (z, y, x), checked as by ConstImageView::at().
    template <class T>
    T& at(index_t z, index_t y, index_t x) const {
        return const_cast<T&>(ConstImageView(*this).at<T>(z, y, x));
    }
    /// Returns the elements of row (z, y), checked as by ConstImageView::row().
    template <class T>
    std::span<T> row(index_t z, index_t y) const {
        const std::span<const T> elements = ConstImageView(*this).row<T>(z, y);
        return {const_cast<T*>(elements.data()), elements.size()};
    }
    operator ConstImageView() const { return {data, type, shape, strides}; }
};

/// Returns a view of contiguous memory in C order: a ConstImageView if T is const, else an
/// ImageView.
template <class T>
auto view_of(T* data, const Shape3& shape) {
    using View = std::conditional_t<std::is_const_v<T>, ConstImageView, ImageView>;
    return View{data, pixel_type_of_v<std::remove_const_t<T>>, shape, contiguous_strides(shape)};
}

/// Returns a view of the samples in `box`. Throws InvalidArgument if `box` leaves the shape of
/// `view`.
/// @code{.cpp}
/// Volume volume({8, 16, 16}, PixelType::float32);
/// const ImageView plane = subview(volume.view(), {{3, 0, 0}, {4, 16, 16}});
/// assert(plane.data == volume.view().at(3, 0, 0));
/// @endcode
CONVOLUME_API ConstImageView subview(const ConstImageView& view, const Box3& box);
/// Returns a writable view of the samples in `box`, as the other subview() does.
CONVOLUME_API ImageView subview(const ImageView& view, const Box3& box);

/// Returns whether elements follow each other in C order without gaps.
CONVOLUME_API bool is_contiguous(const ConstImageView& view);

/// Returns whether the address ranges of `a` and `b`, from first to last byte, have a byte in
/// common.
CONVOLUME_API bool overlap(const ConstImageView& a, const ConstImageView& b);

/// Returns whether elements of a view may be the same memory, as those of an axis with stride 0
/// are. No result can be stored there. Axes whose strides interleave count, too.
CONVOLUME_API bool may_repeat_elements(const ConstImageView& view);

/// Numbers of values that did not fit an integer type and were clamped.
struct ClampCount {
    index_t low = 0;   ///< values below the range; NaN, which becomes 0, counts here
    index_t high = 0;  ///< values above the range
    ClampCount& operator+=(const ClampCount& other) {
        low += other.low;
        high += other.high;
        return *this;
    }
};

/// Copies an image into one of another type and of the same shape. Integers are rounded half to
/// even and clamped. Throws InvalidArgument for different shapes, for complex into real, and for
/// null pointers. It also throws if the images overlap(), unless they are the same elements and
/// their types have equal size.
/// @code{.cpp}
/// const std::vector<float> values = {-1, 0.5F, 1.5F, 300};
/// std::vector<std::uint8_t> rounded(4);
/// const ClampCount clamped =
///     convert_pixels(view_of(values.data(), {1, 1, 4}), view_of(rounded.data(), {1, 1, 4}));
/// assert((rounded == std::vector<std::uint8_t>{0, 0, 2, 255}));
/// assert(clamped.low == 1 && clamped.high == 1);
/// @endcode
CONVOLUME_API ClampCount convert_pixels(const ConstImageView& from, const ImageView& to,
                                        int threads = 1);

/// The error that reports a sample that is NaN or infinite. Callers that have passed a section of
/// an image can catch it, and throw at(place) with the place in the whole image.
/// @code{.cpp}
/// Volume image({4, 4, 4}, PixelType::float32), kernel({1, 1, 1}, PixelType::float32);
/// image.elements<float>()[5] = NAN;
/// kernel.elements<float>()[0] = 2;
/// try {
///     convolve(image.view(), kernel.view());
/// } catch (const NonfiniteSample& error) {
///     assert(error.place().index == (Index3{0, 1, 1}));
/// }
/// @endcode
class CONVOLUME_API NonfiniteSample : public BadData {
  public:
    /// The sample's position in the image.
    struct Location {
        Index3 index{};       ///< z, y, x
        index_t frame = 0;    ///< number of the time, from 0
        index_t channel = 0;  ///< number of the channel, from 0
        /// Whether the image has several channels or times, so that the message names both.
        bool of_several = false;
    };

    /// Makes the error for a sample of this `value`. `cure` is the end of its message.
    NonfiniteSample(double value, const Location& place, const std::string& cure);

    const Location& place() const { return place_; }
    /// Returns the error for the same sample, with another location.
    NonfiniteSample at(const Location& place) const { return {value_, place, cure_}; }

  private:
    double value_;
    Location place_;
    std::string cure_;
};

}  // namespace convolume
