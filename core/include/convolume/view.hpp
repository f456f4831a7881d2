#pragma once
// Non-owning, strided, type-erased views of 3D arrays: what callers hand in and get filled.

#include <type_traits>

#include "convolume/pixel_type.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// A read-only 3D array somewhere in memory. Strides are in elements and may be zero or negative.
struct ConstImageView {
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
struct ImageView {
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
ConstImageView subview(const ConstImageView& view, const Box3& box);
ImageView subview(const ImageView& view, const Box3& box);

/// Whether elements follow each other in C order without gaps.
bool is_contiguous(const ConstImageView& view);

}  // namespace convolume
