// SPDX-License-Identifier: Apache-2.0
#pragma once
// The background of an image that has no dark region, or whose PSF spreads haze over all regions.
// Haze covers the gaps between objects, so that even the darkest region of the image is brighter
// than the background. A few iterations on a
// coarse image take the haze away: the darkest voxels of their estimate tell how far the background
// is above the camera's offset.
//
// If the specimen is sparse (filaments, beads), most voxels hold nothing but haze from outside and
// noise. Iterations turn haze into specks where noise is positive, so that a result has more light
// than the specimen. Haze that lies over most voxels therefore counts as background.

#include <memory>
#include <optional>

#include "deconvolve/estimates/levels.hpp"
#include "deconvolve/placement.hpp"

namespace convolume::deconvolve {

/// Returns the share of haze in the PSF's light: what lies further from the PSF's center, along y
/// or x, than the edge of a region.
double share_of_haze(const DeconvolutionProblem& problem);

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

    /// Returns null if the problem needs no such estimate, or its image is too small for one.
    static std::shared_ptr<DarkLevel> make(const DeconvolutionProblem& fine, int threads);

    /// Returns the background of a pixel, at least the offset of `photons`.
    HazeBackground find(const Sums& sums, const PhotonScale& photons);
    /// Returns whether the PSF spreads so much light so far that a region may be dark without
    /// being free of haze.
    bool has_haze() const { return has_haze_; }
    index_t host_bytes() const { return runner_->plan().host_bytes; }

  private:
    DarkLevel(const DeconvolutionProblem& fine, int threads)
        : fine_(fine.image), threads_(threads) {}
    /// Restores the coarse image above a background of its pixels.
    Volume restore(const ConstImageView& coarse, double background, int iterations);

    Shape3 fine_;
    int threads_;
    bool has_haze_ = false;
    Shape3 factors_{1, 1, 1};  ///< number of pixels of the image in a coarse pixel along each axis
    DeconvolutionProblem problem_;
    std::unique_ptr<Runner> runner_;
};

}  // namespace convolume::deconvolve
