// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "convolume/image_view.hpp"

namespace convolume {

namespace {
template <class View>
View crop(const View& view, const Box3& box) {
    for (int axis = 0; axis < 3; ++axis)
        if (box.begin[axis] < 0 || box.end[axis] > view.shape[axis] ||
            box.begin[axis] > box.end[axis])
            throw InvalidArgument(message("the box [", box.begin[axis], ", ", box.end[axis],
                                          ") leaves the array along ", axis_name(axis),
                                          ", whose extent is ", view.shape[axis]));
    View cropped = view;
    cropped.data = view.at(box.begin.z, box.begin.y, box.begin.x);
    cropped.shape = box.shape();
    return cropped;
}
}  // namespace

ConstImageView subview(const ConstImageView& view, const Box3& box) {
    return crop(view, box);
}
ImageView subview(const ImageView& view, const Box3& box) {
    return crop(view, box);
}

bool is_contiguous(const ConstImageView& view) {
    index_t expected = 1;
    for (int axis = 2; axis >= 0; --axis) {
        if (view.shape[axis] != 1 && view.strides[axis] != expected) return false;
        expected *= view.shape[axis];
    }
    return true;
}

namespace {

// Addresses of the first byte of an image and of the one behind its last.
struct ByteRange {
    std::uintptr_t begin;
    std::uintptr_t end;
};

ByteRange byte_range(const ConstImageView& view) {
    const auto bytes = static_cast<index_t>(size_of(view.type));
    index_t first = 0;
    index_t last = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const index_t reach = (view.shape[axis] - 1) * view.strides[axis];
        (reach < 0 ? first : last) += reach;
    }
    const auto data = reinterpret_cast<std::uintptr_t>(view.data);
    return {data + static_cast<std::uintptr_t>(first * bytes),
            data + static_cast<std::uintptr_t>((last + 1) * bytes)};
}

}  // namespace

bool overlap(const ConstImageView& a, const ConstImageView& b) {
    if (element_count(a.shape) == 0 || element_count(b.shape) == 0) return false;
    const ByteRange of_a = byte_range(a);
    const ByteRange of_b = byte_range(b);
    return of_a.begin < of_b.end && of_b.begin < of_a.end;
}

}  // namespace convolume
