// SPDX-License-Identifier: Apache-2.0
#pragma once
// Samples of any type become samples of the type that is computed in; NaN and infinities among them
// are refused, counted, or left alone.

#include "convolume/filter_options.hpp"
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

/// Looks through `samples`, of shape (1, signals, samples), where `policy` asks for it. Sample 0 of
/// row 0 is sample `first` of signal `signal`. Returns how many are to be read as 0; throws BadData
/// under NanPolicy::error.
index_t check_finite(const ConstImageView& samples, NanPolicy policy, index_t signal, index_t first,
                     int threads);

}  // namespace convolume
