// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies of images with rows and columns exchanged.

#include "convolume/image_view.hpp"

namespace convolume::deskewing {

/// Copies element (z, y, x) of `from` to element (z, x, y) of `to`. Both are contiguous in C order
/// and have the same type.
void turn_planes(const ConstImageView& from, const ImageView& to, int threads);

}  // namespace convolume::deskewing
