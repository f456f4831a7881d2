// SPDX-License-Identifier: Apache-2.0
#pragma once
// load_row() for some of a row's samples, for work that takes a row some samples at a time.

#include "core/pixels/rows.hpp"

namespace convolume::pixels {

/// load_row() for the samples [begin, begin + count) of the gather.
template <class T>
index_t load_span(const ConstImageView& source, index_t z, index_t y, const RowGather& gather,
                  index_t begin, index_t count, const LoadOptions& options, T* out);

}  // namespace convolume::pixels
