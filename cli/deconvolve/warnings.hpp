// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sentences about images and PSFs that do not suit the deconvolution that was asked for.

#include <optional>
#include <string>
#include <vector>

#include "cli/files/kernel_file.hpp"
#include "convolume/image_view.hpp"

namespace convolume::cli {

/// Looks at volumes of an image, one after another.
class PixelCheck {
  public:
    /// `background` as it was given; nothing where it is estimated. `most` is the largest value of
    /// the camera where the file says it.
    PixelCheck(std::optional<double> background, std::optional<double> most)
        : background_(background), most_(most) {}

    /// Rows are contiguous.
    void add(const ConstImageView& volume);

    /// A sentence for each thing that is wrong.
    std::vector<std::string> warnings() const;

  private:
    template <class T>
    void add_saturated(const ConstImageView& volume);
    template <class T>
    void add_dark(const ConstImageView& volume);

    std::optional<double> background_;
    std::optional<double> most_;
    index_t pixels_ = 0;     ///< of all volumes
    index_t saturated_ = 0;  ///< of them
    double saturation_ = 0;  ///< their value
    /// The region that lies farthest below the background, in standard errors of its mean.
    double errors_below_ = 0;
    double darkest_ = 0;
};

/// A sentence for each thing that is wrong with a PSF, whose values are still there, for images
/// like `image`.
std::vector<std::string> psf_warnings(const KernelFile& psf, const io::ImageMetadata& image);

}  // namespace convolume::cli
