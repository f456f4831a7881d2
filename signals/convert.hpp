// SPDX-License-Identifier: Apache-2.0
#pragma once
// Samples of any type become samples of the type that is computed in.

#include "convolume/image_view.hpp"

namespace convolume {

/// Elements begin … begin+count-1 of row y (z = 0) of `view`, in the type T. With `zero`, those
/// that are not finite are read as 0; returns how many.
template <class T>
index_t convert_row(const ConstImageView& view, index_t y, index_t begin, index_t count, bool zero,
                    T* out);

/// The same into memory of type `to`.
index_t convert_row(const ConstImageView& view, index_t y, index_t begin, index_t count, bool zero,
                    PixelType to, void* out);

}  // namespace convolume
