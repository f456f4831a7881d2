// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copying pixels between strided views, and turning their bytes around.

#include <cstddef>

#include "convolume/image_view.hpp"

namespace convolume::io {

/// Copies elements between views of equal shape and type.
void copy_view(const ConstImageView& from, const ImageView& to);

/// Reverses the bytes of each of `count` numbers of `bytes_each` bytes.
void swap_bytes(void* data, index_t count, std::size_t bytes_each);
/// The same for `count` pixels: real and imaginary parts are swapped separately.
void swap_pixels(void* data, index_t count, PixelType type);

}  // namespace convolume::io
