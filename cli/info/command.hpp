// SPDX-License-Identifier: Apache-2.0
#pragma once
// Statistics of pixels and samples that `convolume info --stats` prints.

#include <limits>

#include "convolume/image_view.hpp"

namespace convolume::cli {

/// Statistics of all added images. Complex pixels count by magnitude; NaN are only counted.
struct PixelStatistics {
    index_t count = 0;
    index_t nan_count = 0;
    double minimum = std::numeric_limits<double>::infinity();
    double maximum = -std::numeric_limits<double>::infinity();
    double value_sum = 0;

    double mean() const { return value_sum / static_cast<double>(count - nan_count); }
    void add(const ConstImageView& image);
};

}  // namespace convolume::cli
