// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moving pixels between memory, files and strided views.

#include <cstddef>

#include "convolume/image_view.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {

/// Copies elements between views of equal shape and type.
void copy_view(const ConstImageView& from, const ImageView& to);

/// Reverses the bytes of each of `count` numbers of `bytes_each` bytes.
void swap_bytes(void* data, index_t count, std::size_t bytes_each);
/// The same for `count` pixels: real and imaginary parts are swapped separately.
void swap_pixels(void* data, index_t count, PixelType type);

/// An array of pixels in a file: element (z, y, x) is at offset + (z, y, x) · strides (in elements,
/// not negative).
struct FileArray {
    index_t offset = 0;
    Index3 strides;
    bool swapped = false;  ///< bytes in the other order than this machine's
};

/// Reads target.shape elements, a bounded number of bytes at a time when they do not lie as
/// `target` does.
void read_array(const RawFile& file, const FileArray& array, const ImageView& target);

}  // namespace convolume::io
