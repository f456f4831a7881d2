// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "convolume/image_view.hpp"
#include "deconvolve/executors/executor.hpp"
#include "deconvolve/placement.hpp"
#include "deconvolve/problem.hpp"

// Coarser images, and the problems of their deconvolution. A coarse pixel is the sum of two pixels
// along each of some axes, so that its photons still follow Poisson's distribution. A coarse voxel
// spreads its light over the fine voxels by linear interpolation. If B sums pixels, A blurs and U
// interpolates, the coarse image has the PSF of
//     B A U
// This is exact, but for pixels that are left over at the end of an axis.
namespace convolume::deconvolve {

/// Axes along which a coarse image has one pixel for two pixels of the fine image.
struct Coarsening {
    std::array<bool, 3> halved{};  ///< axes along which pixels are summed in pairs: z, y, x

    bool any() const { return halved[0] || halved[1] || halved[2]; }
    index_t factor(int axis) const { return halved[static_cast<std::size_t>(axis)] ? 2 : 1; }
    index_t pixels() const {
        return factor(0) * factor(1) * factor(2);
    }  ///< number of fine pixels in a coarse pixel
    Shape3 image(const Shape3& fine) const;
};

/// Chooses the axes to halve: those along which the image is long enough, and the PSF passes less
/// than half of the contrast of detail that coarse pixels cannot show. With `keeps_planes`, z is
/// halved only if neither y nor x is.
Coarsening coarsening_of(const DeconvolutionProblem& fine, bool keeps_planes);

/// Returns the problem whose image has the sums of the fine image's pixels. A given background is
/// multiplied by the number of fine pixels in a coarse pixel.
DeconvolutionProblem coarse_problem(const DeconvolutionProblem& fine, const Coarsening& coarsening);

/// Levels of a fine pixel, which may have been estimated in the fine image.
struct ImageLevels {
    double background = 0;
    double offset = 0;
};

/// Parameters of the draw that holds out photons before pixels are summed (Executor::hold_out).
struct HeldOutPhotons {
    PhotonScale photons;
    int halvings = 0;  ///< one photon in 2^halvings is held out; 0: no photon
};

/// Returns the value of a coarse pixel if one of its fine pixels is left out of comparisons.
float coarse_saturation();

/// Sums the image's pixels as iterations compare them: negative pixels as 0, and without the
/// photons that are held out. The sum of lower bounds and other pixels is a lower bound, which
/// holds its value as PixelBounds tells. Returns the number of coarse pixels that are compared.
index_t sum_pixels(const ConstImageView& image, const PixelBounds& bounds,
                   const HeldOutPhotons& held_out, const Coarsening& coarsening, int threads,
                   const ImageView& coarse);

/// An estimate, and the index of the voxel that stands at the image's first pixel.
struct PlacedEstimate {
    ConstImageView voxels;
    Index3 at;
};

/// Interpolates the coarse estimate linearly at the voxels of the fine object, and raises values to
/// at least `least`. Calls `write(values, first, count)` for groups of planes of the fine object,
/// with values in such `memory`.
void interpolate_estimate(const PlacedEstimate& coarse, const Coarsening& coarsening,
                          const Shape3& object, const Index3& at, float least, int threads,
                          HostMemory memory,
                          const std::function<void(const float*, index_t, index_t)>& write);

// A coarse start: iterations on coarser images cost a fraction of those on the full image. They
// find the broad structures, which take most iterations.

class CoarseStart;

/// An image that a runner deconvolves, and where its iterations start; null: from a constant.
struct RestoredLevel {
    DeconvolutionProblem& problem;
    Runner& runner;
    CoarseStart* start;

    /// Returns memory for an estimate of the object, of the kind that the runner fills fastest.
    Volume make_estimate() const;
    /// Returns the sum of the squared differences of two estimates inside the image.
    double squared_distance(const Volume& a, const Volume& b, int threads) const;
};

/// Deconvolves a coarse image, and may itself start from a coarser image.
class CoarseStart {
  public:
    using MakeRunner = std::function<std::unique_ptr<Runner>(const DeconvolutionProblem&)>;

    /// Makes a coarse start that coarsens the image at most `levels` times. Returns null if the
    /// options request none or no axis is to be halved. Throws OutOfMemory.
    static std::unique_ptr<CoarseStart> make(const DeconvolutionProblem& fine,
                                             const MakeRunner& make_runner, int threads,
                                             int levels = most_levels);

    /// Returns the extents of the coarse images, the coarsest first.
    std::vector<Shape3> images() const;
    index_t host_bytes() const;
    index_t device_bytes() const;
    /// Returns the fraction of the total time that coarse iterations take if `iterations` fine
    /// iterations follow.
    double share_of_time(int iterations) const;

    RestoredLevel level() { return {problem_, *runner_, coarser_.get()}; }
    /// Sums the pixels of a fine image in a coarse one. Returns the number of coarse pixels that
    /// are compared.
    index_t sum(const ConstImageView& image, const HeldOutPhotons& held_out,
                const ImageView& coarse) const {
        return sum_pixels(image, fine_bounds_, held_out, coarsening_, threads_, coarse);
    }
    /// Takes levels and gain from those of the fine image. Returns the levels of a coarse pixel.
    ImageLevels set_levels(const ImageLevels& fine, double gain);
    /// Sets the numbers of iterations on this coarse image and on coarser ones, in this order.
    void set_iterations(const std::vector<int>& numbers);

    /// Deconvolves sums of the image's pixels, and writes the first estimate of the fine image by
    /// Executor::write_estimate. Returns the number of coarse iterations. `usual` is the value with
    /// which voxels start otherwise. All voxels start with it if no coarse pixel is compared, and
    /// none starts with less than a thousandth of it.
    int begin(const ConstImageView& image, const ImageLevels& levels,
              const HeldOutPhotons& held_out, Executor& fine, float usual,
              const ExecutionContext& context);

  private:
    static constexpr int most_levels = 2;

    CoarseStart(const DeconvolutionProblem& fine, const Coarsening& coarsening, int threads);
    double voxel_steps() const;

    Coarsening coarsening_;
    PixelBounds fine_bounds_;
    Shape3 fine_object_;
    Index3 fine_at_;
    DeconvolutionProblem problem_;
    int threads_;
    std::unique_ptr<CoarseStart> coarser_;
    std::unique_ptr<Runner> runner_;
};

}  // namespace convolume::deconvolve
