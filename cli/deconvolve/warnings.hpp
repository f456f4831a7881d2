// SPDX-License-Identifier: Apache-2.0
#pragma once
// Warnings about images and PSFs that do not suit the requested deconvolution.

#include <optional>
#include <string>
#include <vector>

#include "cli/files/kernel_file.hpp"
#include "convolume/image_view.hpp"

namespace convolume::cli {

/// Check of an image's volumes for saturation and for a background that is too high.
class PixelCheck {
  public:
    /// `background` is the given one; nothing if it is estimated. `camera_maximum` is the largest
    /// value of the camera, if the file has it.
    PixelCheck(std::optional<double> background, std::optional<double> camera_maximum)
        : background_(background), camera_maximum_(camera_maximum) {}

    /// Checks a volume, whose rows are contiguous.
    void add(const ConstImageView& volume);

    /// Returns a sentence for each problem that was found.
    std::vector<std::string> warnings() const;

  private:
    template <class T>
    void add_saturated(const ConstImageView& volume);
    template <class T>
    void add_dark(const ConstImageView& volume);

    std::optional<double> background_;
    std::optional<double> camera_maximum_;
    index_t pixels_ = 0;     ///< number of pixels of all volumes
    index_t saturated_ = 0;  ///< number of saturated pixels
    double saturation_ = 0;  ///< value of the saturated pixels
    /// Standard errors by which the darkest region's mean is below the background.
    double errors_below_ = 0;
    double darkest_ = 0;  ///< mean of the darkest region
};

/// Returns a sentence for each problem of a loaded PSF with images like `image`.
std::vector<std::string> psf_warnings(const KernelFile& psf, const io::ImageMetadata& image);

}  // namespace convolume::cli
