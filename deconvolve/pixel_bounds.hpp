// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pixels that are lower bounds, in images of callers and in those that are made of them.

#include <optional>

#include "convolume/missing_pixels.hpp"

namespace convolume::deconvolve {

/// Sums of pixels have bounds of their own: such a pixel holds its bound times this factor, which
/// changes the exponent alone. Other pixels are far below the least encoded bound.
inline constexpr float bound_factor = 0x1p80F;
inline constexpr float least_encoded_bound = 0x1p60F;

inline float encoded_bound(float bound) {
    const float encoded = bound * bound_factor;
    return encoded > least_encoded_bound ? encoded : least_encoded_bound;
}

/// Which pixels of an image are lower bounds or left out.
struct PixelBounds {
    std::optional<double> level;  ///< pixels from this value on are
    bool are_encoded = false;     ///< whether each holds its own bound

    bool apply_to(float pixel) const { return level && static_cast<double>(pixel) >= *level; }
    /// Returns the bound of a pixel to which they apply; nothing if it is left out.
    std::optional<float> bound_of(float pixel) const {
        if (pixel >= missing_pixel) return std::nullopt;
        return are_encoded ? pixel / bound_factor : static_cast<float>(*level);
    }
    /// Returns such a pixel in twice a half of the photons, where encoded_bounds() apply.
    float in_halves(float pixel) const {
        const std::optional<float> bound = bound_of(pixel);
        return bound ? encoded_bound(*bound) : missing_pixel;
    }
};

/// Returns the bounds of images that are made of others.
inline PixelBounds encoded_bounds() {
    return {static_cast<double>(least_encoded_bound), true};
}

}  // namespace convolume::deconvolve
