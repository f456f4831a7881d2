// SPDX-License-Identifier: Apache-2.0
#include "cli/convolve/planned_shape.hpp"

#include "convolume/error.hpp"

namespace convolume::cli {

Shape3 planned_image_shape(const Shape3& input, const Shape3& kernel, const Options& options) {
    if (options.operation != Operation::adjoint || options.mode == Mode::same) return input;
    Shape3 image;
    for (int axis = 0; axis < 3; ++axis) {
        const index_t extra = kernel[axis] - 1;
        image[axis] =
            options.mode == Mode::full ? input[axis] - extra : checked_add(input[axis], extra);
        if (image[axis] < 1)
            throw InvalidArgument(
                message("the adjoint of mode full takes images at least as large "
                        "as the kernel, but along ",
                        axis_name(axis), " the image has ", input[axis], " and the kernel ",
                        kernel[axis], " samples; choose another --mode"));
    }
    return image;
}

}  // namespace convolume::cli
