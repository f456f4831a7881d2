// SPDX-License-Identifier: Apache-2.0
#pragma once
// Warnings about images and PSFs that do not suit the requested deconvolution.

#include <optional>
#include <string>
#include <vector>

#include "cli/files/kernel_file.hpp"
#include "convolume/deconvolver.hpp"
#include "convolume/image_view.hpp"

namespace convolume::cli {

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

/// Returns a sentence if the image differs from the blurred result by much more than noise after as
/// many iterations as the search found; else an empty text.
std::string misfit_warning(const std::vector<DeconvolveReport>& volumes, const KernelFile& psf,
                           bool is_refined);

/// Returns a sentence for each problem of a loaded PSF with images like `image`.
std::vector<std::string> psf_warnings(const KernelFile& psf, const io::ImageMetadata& image);

}  // namespace convolume::cli
