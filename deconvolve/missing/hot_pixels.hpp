// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hot and dead pixels. Light that came through the PSF cannot be confined to one pixel: beside its
// neighbors, a pixel has at most the share that the sharpest place of the PSF has. What is above it
// by more than noise is the camera's.

#include <vector>

#include "convolume/missing_pixels.hpp"
#include "deconvolve/missing/plane_bands.hpp"

namespace convolume::deconvolve {

/// The pixels of a plane, and for each the mean of its neighbors without the brightest of them: one
/// hot pixel does not disturb it. NaN for pixels that are left out or have fewer than two
/// neighbors.
struct Neighborhoods {
    const float* values = nullptr;  ///< those of the plane
    std::vector<float> means;
};

/// Compares each pixel of a plane with its neighbors. `left_out` says which pixels are not used; it
/// may be empty.
void compare_neighbors(const Plane& plane, const std::vector<bool>& left_out,
                       Neighborhoods& pixels);

enum class Outliers { bright, dark };

/// Returns the numbers of pixels that differ from their neighbors by more than noise and the PSF
/// allow. The noise is that of pixels with equally bright neighbors.
std::vector<index_t> outliers_of(const Neighborhoods& pixels, const PsfSharpness& sharpness,
                                 Outliers kind);

/// Pixels of a camera that are hot or dead in all planes.
class CameraPixels {
  public:
    CameraPixels(index_t height, index_t width, const PsfSharpness& sharpness)
        : height_(height),
          width_(width),
          sharpness_(sharpness),
          pixels_(static_cast<std::size_t>(height * width)) {}

    /// Adds planes from plane `first` on. Pixels in `hot` are hot, and those in `left_out` are not
    /// used.
    void add(const ConstImageView& planes, index_t first, const MissingPixels& hot,
             const MissingPixels& left_out, int threads);
    /// Returns their numbers in a plane. There are none unless there are several planes.
    std::vector<index_t> find() const;

  private:
    struct PixelSums {
        double values = 0;
        index_t planes = 0, hot_planes = 0;
    };
    index_t height_, width_;
    PsfSharpness sharpness_;
    std::vector<PixelSums> pixels_;
};

}  // namespace convolume::deconvolve
