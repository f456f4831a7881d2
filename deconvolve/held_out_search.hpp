// SPDX-License-Identifier: Apache-2.0
#pragma once
// The search for the number of iterations that predicts held-out photons best, on a part of a large
// image. The whole image then takes that number of iterations once.

#include <functional>
#include <memory>
#include <vector>

#include "convolume/image_view.hpp"
#include "deconvolve/placement.hpp"
#include "deconvolve/problem.hpp"

namespace convolume::deconvolve {

class HeldOutSearch {
  public:
    using MakeRunner = std::function<std::unique_ptr<Runner>(const DeconvolutionProblem&)>;

    /// Makes the search in a part of the image of `whole`, which was resolved from `psf` and
    /// `options`. Returns null if the options request no search, if the image is small, or if
    /// iterations start on coarser images: a search then takes the whole image. Throws OutOfMemory.
    static std::unique_ptr<HeldOutSearch> make(const DeconvolutionProblem& whole,
                                               const ConstImageView& psf,
                                               const DeconvolveOptions& options, int threads,
                                               const MakeRunner& make_runner);

    const Shape3& part() const { return problem_.image; }
    index_t host_bytes() const;
    index_t device_bytes() const { return runner_->plan().device_bytes; }
    /// Returns the fraction of the time that the search takes.
    double share_of_time() const;

    /// Adds the light of plane after plane of an image, as float32. begin_image() begins another
    /// image.
    void begin_image();
    void add_plane(const float* pixels);
    /// Returns the place of the brightest part of the image.
    Box3 brightest() const;

    /// Iterates on a part. Returns the number of iterations that was best in `iterations`, and the
    /// number of iterations of the search in `searched`. Background and scale of photons are those
    /// of the image. `run` gives an initial estimate of the part, and gets reports.
    DeconvolveReport find(const ConstImageView& part, const LoadedImage& image,
                          const DeconvolveRun& run, const ExecutionContext& context);

  private:
    HeldOutSearch(const DeconvolutionProblem& whole, DeconvolutionProblem&& problem, int threads);

    Shape3 whole_, whole_object_;
    DeconvolutionProblem problem_;
    int threads_;
    std::unique_ptr<Runner> runner_;
    index_t cells_y_, cells_x_;
    std::vector<double> light_;  ///< light of the cells of an image's planes, over all planes
};

}  // namespace convolume::deconvolve
