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

}  // namespace convolume
