// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/deconvolve/command.hpp"
#include "cli/files/volumes.hpp"
#include "convolume/bleaching.hpp"

namespace convolume::cli {

namespace {

double sum_of(const ConstImageView& part, int threads) {
    return visit_pixel_type(part.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_arithmetic_v<T>) {
            const std::vector<double> rows = figures_of_rows<T>(part, threads, [&](const T* row) {
                double sum = 0;
#pragma omp simd reduction(+ : sum)
                for (index_t x = 0; x < part.shape.x; ++x) sum += static_cast<double>(row[x]);
                return sum;
            });
            return std::accumulate(rows.begin(), rows.end(), 0.0);
        } else {
            return 0.0;
        }
    });
}

}  // namespace

void LightCheck::add_image(const ConstImageView& part) {
    if (part.type != PixelType::float32) {
        image_ += sum_of(part, threads_);
        pixels_ += element_count(part.shape);
        return;
    }
    // Saturated pixels of a recording that bleaches hold bounds that are no light.
    const auto most = static_cast<float>(UnbleachedVolume::saturation_of_bounds());
    const auto sums = figures_of_rows<float>(part, threads_, [&](const float* row) {
        std::pair<double, index_t> sum;
        for (index_t x = 0; x < part.shape.x; ++x) {
            const bool is_used = row[x] < most;
            sum.first += is_used ? static_cast<double>(row[x]) : 0;
            sum.second += is_used;
        }
        return sum;
    });
    for (const auto& [sum, pixels] : sums) {
        image_ += sum;
        pixels_ += pixels;
    }
}

void LightCheck::add_result(const ConstImageView& part) {
    result_ += sum_of(part, threads_);
}

void LightCheck::end_volume(double background) {
    const double light = image_ - background * static_cast<double>(pixels_);
    if (light > 0) least_share_ = std::min(least_share_.value_or(1), result_ / light);
    image_ = result_ = 0;
    pixels_ = 0;
}

std::optional<double> LightCheck::least_share() const {
    return least_share_;
}

}  // namespace convolume::cli
