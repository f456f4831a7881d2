// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "convolume/image_view.hpp"
#include "deconvolve/executors/executor.hpp"
#include "deconvolve/placement.hpp"
#include "deconvolve/problem.hpp"

// Coarser images, and what their deconvolution is. A coarse pixel is the sum of two pixels along
// each of some axes, so that its photons still follow Poisson's distribution. A coarse voxel
// spreads its light over the fine ones by linear interpolation. With B and U for these two, the PSF
// of the coarse image is that of B A U: no approximation, but for pixels that are left over at the
// end of an axis.
namespace convolume::deconvolve {

/// What a coarse image has of each pair of pixels.
struct Coarsening {
    std::array<bool, 3> halved{};  ///< along z, y, x

    bool any() const { return halved[0] || halved[1] || halved[2]; }
    index_t factor(int axis) const { return halved[static_cast<std::size_t>(axis)] ? 2 : 1; }
    index_t pixels() const { return factor(0) * factor(1) * factor(2); }  ///< of one coarse pixel
    Shape3 image(const Shape3& fine) const;
};

/// Along axes where the image is long enough, and where the PSF passes less than half of the
/// contrast of detail that the coarse pixels cannot show. `keeps_planes`: along z only where
/// neither y nor x is halved.
Coarsening coarsening_of(const DeconvolutionProblem& fine, bool keeps_planes);

/// With the sums of pairs of the fine image as its image; a background that is known is that of so
/// many pixels.
DeconvolutionProblem coarse_problem(const DeconvolutionProblem& fine, const Coarsening& coarsening);

/// How photons are set apart before they are summed (Executor::hold_out).
struct HeldOutPhotons {
    PhotonScale photons;
    int halvings = 0;  ///< 0: none are
};

/// The value of a coarse pixel if one of its fine pixels is not compared.
float coarse_saturation();

/// Sums of the image's pixels as iterations compare them: not negative, without photons that are
/// held. Returns how many coarse pixels are compared.
index_t sum_pixels(const ConstImageView& image, std::optional<double> saturation,
                   const HeldOutPhotons& held, const Coarsening& coarsening, int threads,
                   const ImageView& coarse);

/// An estimate, and the sample of it that stands at the image's first.
struct PlacedEstimate {
    ConstImageView voxels;
    Index3 at;
};

/// Calls `write(values, first, count)` for the planes of the fine object: the coarse one spread by
/// linear interpolation, and at least `least`.
void spread(const PlacedEstimate& coarse, const Coarsening& coarsening, const Shape3& object,
            const Index3& at, float least, int threads,
            const std::function<void(const float*, index_t, index_t)>& write);

// A start on coarser images: iterations on them cost a fraction, and find the broad structures,
// which take most iterations.

/// The deconvolution of a coarse image, which may have a coarse start of its own.
class CoarseStart {
  public:
    using MakeRunner = std::function<std::unique_ptr<Runner>(const DeconvolutionProblem&)>;

    /// Null where none is asked for, or where no axis is to be halved. Images are coarsened
    /// `levels` times at most. Throws OutOfMemory.
    static std::unique_ptr<CoarseStart> make(const DeconvolutionProblem& fine,
                                             const MakeRunner& make_runner, int threads,
                                             int levels = most_levels);

    /// Extents of the images, the coarsest first.
    std::vector<Shape3> images() const;
    index_t host_bytes() const;
    index_t device_bytes() const;
    /// Its share of the time of this and of so many fine iterations.
    double share_of_time(int iterations) const;

    /// Deconvolves sums of the image's pixels, and writes the estimate to begin with by
    /// Executor::write_estimate. Returns how many iterations that took. `background` is that of a
    /// fine pixel, `usual` what voxels begin with otherwise: all of them do where no coarse pixel
    /// is compared, and none begins with less than a thousandth of it.
    int begin(const ConstImageView& image, double background, const HeldOutPhotons& held,
              Executor& fine, float usual, const ExecutionContext& context);

  private:
    static constexpr int most_levels = 2;

    CoarseStart(const DeconvolutionProblem& fine, const Coarsening& coarsening, int threads);
    double voxel_steps() const;

    Coarsening coarsening_;
    std::optional<double> fine_saturation_;
    Shape3 fine_object_;
    Index3 fine_at_;
    DeconvolutionProblem problem_;
    int threads_;
    std::unique_ptr<CoarseStart> coarser_;
    std::unique_ptr<Runner> runner_;
};

}  // namespace convolume::deconvolve
