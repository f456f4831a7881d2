// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "convolume/image_view.hpp"

namespace convolume::cli {

/// Figures of pixels; complex ones count by magnitude, NaN are counted and left out.
struct PixelStatistics {
    index_t count = 0;
    index_t nan_count = 0;
    double minimum = std::numeric_limits<double>::infinity();
    double maximum = -std::numeric_limits<double>::infinity();
    double sum = 0;

    double mean() const { return sum / static_cast<double>(count - nan_count); }
    void add(const ConstImageView& image);
};

nlohmann::ordered_json statistics_json(const PixelStatistics& statistics);
/// Lines for people.
std::string statistics_text(const PixelStatistics& statistics);

}  // namespace convolume::cli
