// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <type_traits>

#include "deconvolve/estimates/constants.hpp"
#include "deconvolve/missing/finders.hpp"

namespace convolume {

bool is_full_scale(double value, PixelType type, std::optional<double> camera_maximum) {
    if (camera_maximum && value >= *camera_maximum) return true;
    for (const int bits : {8, 10, 11, 12, 13, 14, 16})
        if (value == std::ldexp(1.0, bits) - 1) return true;
    return visit_pixel_type(type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        // Values were converted to float32, to which large limits are rounded.
        if constexpr (std::is_integral_v<T>)
            return static_cast<float>(value) == static_cast<float>(std::numeric_limits<T>::max());
        return false;
    });
}

}  // namespace convolume

namespace convolume::deconvolve {

void SaturationSearch::add(const Plane& plane) {
    // Two loops that compilers vectorize take less time than one with branches.
    float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
    for (index_t i = 0; i < plane.count(); ++i)
        largest = plane.pixels[i] > largest ? plane.pixels[i] : largest;
    index_t count = 0;
    for (index_t i = 0; i < plane.count(); ++i) count += plane.pixels[i] == largest;
    const std::lock_guard lock(mutex_);
    pixels_ += plane.count();
    if (largest > largest_) {
        largest_ = largest;
        count_ = 0;
    }
    if (largest == largest_) count_ += count;
}

std::optional<SaturatedPixels> SaturationSearch::find(PixelType type,
                                                      std::optional<double> camera_maximum) const {
    const auto largest = static_cast<double>(largest_);
    if (count_ < common::few ||
        static_cast<double>(count_) < common::never * static_cast<double>(pixels_) ||
        !is_full_scale(largest, type, camera_maximum))
        return std::nullopt;
    return SaturatedPixels{largest, count_, {}};
}

}  // namespace convolume::deconvolve
