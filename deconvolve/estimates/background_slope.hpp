// SPDX-License-Identifier: Apache-2.0
#pragma once
// A background that varies slowly over y and x: stray light, uneven illumination.
//
// The image is divided into overlapping regions that are longer than the reach of a compact PSF, so
// that most of them have pixels without light from objects. Each region's usual level is found as
// that of an image without such a background. A plane is fitted to the levels. Regions that are
// brighter than the plane by more than noise explains have no dark pixels: they are left out, so
// that their light stays with the object. Only the slope of the plane is used. It is subtracted
// from the image, and the image's mean level is then found as always. A curved surface would follow
// objects where they fill a part of the image. bench/restoration/light.py --slope 0.8 --options
// "--background smooth" measures what it gains.

#include <cmath>

#include "convolume/image_stream.hpp"
#include "deconvolve/pixel_bounds.hpp"
#include "deconvolve/problem.hpp"

namespace convolume::deconvolve {

/// A background that rises evenly over y and x, less its mean over the image, for all planes alike.
struct BackgroundSlope {
    Shape3 image;
    double along_y = 0, along_x = 0;  ///< change from pixel to pixel

    /// Returns the background of a pixel, less the mean of all pixels.
    double at(double y, double x) const {
        return along_y * (y - static_cast<double>(image.y - 1) / 2) +
               along_x * (x - static_cast<double>(image.x - 1) / 2);
    }
    /// Returns the difference between the brightest and the darkest pixel's background.
    double range() const {
        return std::abs(along_y) * static_cast<double>(image.y - 1) +
               std::abs(along_x) * static_cast<double>(image.x - 1);
    }
};

/// Throws InvalidArgument if the image or the PSF does not tell a varying background: if the image
/// is short along y or x, or if the PSF lays haze over it, which varies as slowly.
void check_varying_background(const DeconvolutionProblem& problem);

/// Finds the slope of one volume. Pixels to which `bounds` apply, and missing ones, are left out.
/// There is none if too few regions have pixels.
BackgroundSlope find_background_slope(ImageSource& image, const PixelBounds& bounds, int threads);

/// One volume less a slope, as float32. Missing pixels stay marked, and others to which bounds
/// apply become encoded bounds. The other source must outlive it.
class FlattenedVolume : public ImageSource {
  public:
    FlattenedVolume(ImageSource& source, const BackgroundSlope& slope, const PixelBounds& bounds)
        : source_(source), slope_(slope), bounds_(bounds) {}
    StackFormat format() const override;
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override;

  private:
    ImageSource& source_;
    BackgroundSlope slope_;
    PixelBounds bounds_;
};

}  // namespace convolume::deconvolve
