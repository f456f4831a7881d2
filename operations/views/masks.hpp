// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files of the weights of a view's pixels.

#include <string>

#include "convolume/image_file.hpp"

namespace convolume {

/// Throws BadData unless an image is one stack of real numbers, with the extents of the view whose
/// pixels it weighs.
void check_view_mask(const std::string& path, const io::ImageMetadata& mask, const Shape3& view);

}  // namespace convolume
