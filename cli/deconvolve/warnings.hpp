// SPDX-License-Identifier: Apache-2.0
#pragma once
// Warnings about images and PSFs that do not suit the requested deconvolution.

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cli/files/kernel_file.hpp"
#include "convolume/deconvolver.hpp"
#include "convolume/image_view.hpp"

namespace convolume::cli {

/// Check of an image's volumes for saturation.
class PixelCheck {
  public:
    /// `camera_maximum` is the largest value of the camera, if the file has it.
    PixelCheck(std::optional<double> camera_maximum, int threads)
        : camera_maximum_(camera_maximum), threads_(threads) {}

    /// Checks a part of a volume, whose rows are contiguous.
    void add(const ConstImageView& part);
    /// Ends a volume. Its saturated pixels are those of its largest value.
    void end_volume();

    /// Returns a sentence if pixels are saturated, else an empty text.
    std::string warning() const;

  private:
    std::optional<double> camera_maximum_;
    int threads_;
    double largest_ = -std::numeric_limits<double>::infinity();  ///< of this volume
    index_t largest_count_ = 0;     ///< number of pixels of this volume that have the largest value
    bool largest_is_full_ = false;  ///< whether their type has no larger value
    index_t pixels_ = 0;            ///< number of pixels of all volumes
    index_t saturated_ = 0;         ///< number of saturated pixels
    double saturation_ = 0;         ///< value of the saturated pixels
};

/// Check of the light of results, which is that of the image above its background.
class LightCheck {
  public:
    explicit LightCheck(int threads) : threads_(threads) {}

    /// Takes a part of the image, whose missing pixels are marked.
    void add_image(const ConstImageView& part);
    void add_result(const ConstImageView& part);
    /// Ends a volume, whose image has this background.
    void end_volume(double background);

    /// Returns a sentence if a result has lost light, else an empty text.
    std::string warning() const;

  private:
    int threads_;
    double image_ = 0, result_ = 0;  ///< sums of this volume's pixels
    index_t pixels_ = 0;             ///< number of pixels that are not missing
    double least_share_ = 1;         ///< least share of its image's light that a result has
};

/// Returns a warning if the background contradicts the darkest region of a volume, or is doubtful
/// because no region is dark; else an empty text.
std::string background_warning(const std::vector<DeconvolveReport>& volumes);

/// Returns a sentence if an image's noise is not that of photons, else an empty text.
std::string filtered_warning(const std::vector<DeconvolveReport>& volumes, bool is_searched);

/// Returns a sentence for each problem of a loaded PSF with images like `image`.
std::vector<std::string> psf_warnings(const KernelFile& psf, const io::ImageMetadata& image);

}  // namespace convolume::cli
