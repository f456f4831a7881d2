// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pixels at the largest value that their type or camera has.

#include <limits>
#include <mutex>
#include <optional>

#include "convolume/missing_pixels.hpp"
#include "deconvolve/missing/plane_bands.hpp"

namespace convolume::deconvolve {

/// Counts the pixels of the largest value, plane by plane.
class SaturationSearch {
  public:
    /// Takes a plane. Several threads may call this at once.
    void add(const Plane& plane);
    /// Returns the saturated pixels of the planes, which were recorded as `type`, without a
    /// sentence; nothing if they are so few that they may be hot pixels, or make no difference.
    std::optional<SaturatedPixels> find(PixelType type, std::optional<double> camera_maximum) const;

  private:
    std::mutex mutex_;
    float largest_ = -std::numeric_limits<float>::infinity();
    index_t count_ = 0;   ///< number of pixels of the largest value
    index_t pixels_ = 0;  ///< number of all pixels
};

}  // namespace convolume::deconvolve
