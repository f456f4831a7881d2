// SPDX-License-Identifier: Apache-2.0
#include "operations/views/masks.hpp"

#include "convolume/error.hpp"

namespace convolume {

void check_view_mask(const std::string& path, const io::ImageMetadata& mask, const Shape3& view) {
    if (mask.shape == view && mask.channels == 1 && mask.frames == 1 && !is_complex(mask.type))
        return;
    throw BadData(message("the mask \"", path, "\" has z,y,x ", to_string(mask.shape), ", ",
                          mask.channels, mask.channels == 1 ? " channel and " : " channels and ",
                          mask.frames, mask.frames == 1 ? " time of " : " times of ",
                          to_string(mask.type), ", but one stack of real numbers of z,y,x ",
                          to_string(view), " is needed, one for each pixel of the view"));
}

}  // namespace convolume
