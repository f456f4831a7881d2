// SPDX-License-Identifier: Apache-2.0
#pragma once
// The background of an image whose PSF spreads haze over all regions.
//
// Light that covers all of the image may be background, or haze of the specimen. A restoration that
// begins with most light as background leaves it there, if its iterations end before they fit
// noise; one that begins with all light in the object ends with less background. Which of them is
// right shows in photons that the restoration does not know: it predicts them best. So half of the
// photons of a coarse image are restored several times, with the object's share of the light at the
// start halved each time, and the other half tells which shares are plausible.

#include <memory>
#include <optional>

#include "convolume/convolver.hpp"
#include "deconvolve/estimates/levels.hpp"
#include "deconvolve/problem.hpp"

namespace convolume::deconvolve {

/// Returns the share of haze in the PSF's light: what is more than `reach` pixels from the PSF's
/// center, along y or x.
double share_of_haze(const DeconvolutionProblem& problem, index_t reach);
/// Returns whether the PSF makes much haze, which varies as slowly as a background.
bool has_haze(const DeconvolutionProblem& problem);

class DarkLevel {
  public:
    /// Sums of an image's pixels, in coarse pixels. They do not depend on the number of threads.
    class Sums {
      public:
        explicit Sums(const DarkLevel& level);
        /// Adds plane `z` as float32: without negative pixels, and with marks of pixels that are
        /// not compared.
        void add_plane(const float* pixels, index_t z);
        /// Adds all planes of an image, whose pixels of at least `saturation` are not compared.
        void add(const ConstImageView& image, std::optional<double> saturation);

      private:
        friend class DarkLevel;
        const DarkLevel& level_;
        Volume coarse_;
    };

    /// Returns null if the problem needs no such estimate.
    static std::shared_ptr<DarkLevel> make(const DeconvolutionProblem& fine, int threads);

    /// Returns the range of the background of a pixel, at least the offset of `photons`.
    LevelRange find(const Sums& sums, const PhotonScale& photons) const;
    /// Returns whether there is haze to look under, and the image is large enough for it. Otherwise
    /// there are no sums.
    bool can_find() const { return blur_.has_value(); }
    /// Returns the share of the PSF's light that lies beyond a region's edge from its center.
    double haze() const { return haze_; }
    index_t host_bytes() const;

  private:
    DarkLevel(const DeconvolutionProblem& fine, int threads)
        : fine_(fine.image), threads_(threads) {}

    Shape3 fine_;
    int threads_;
    double haze_ = 0;
    Shape3 factors_{1, 1, 1};  ///< number of pixels of the image in a coarse pixel along each axis
    DeconvolutionProblem problem_;
    std::optional<Convolver> blur_, back_;
};

}  // namespace convolume::deconvolve
