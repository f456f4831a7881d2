// SPDX-License-Identifier: Apache-2.0
#pragma once
// One execution: the image goes in, iterations of the method are done, the estimate comes out.

#include "deconvolve/executors/executor.hpp"

namespace convolume::deconvolve {

class CoarseStart;

/// A start on coarser images, and the image in host memory whose pixels these are sums of.
struct CoarseStartSource {
    CoarseStart* start = nullptr;  ///< null: there is none
    ConstImageView image{};
};

/// The caller's image and result, wherever they are.
class CallerImages {
  public:
    virtual ~CallerImages() = default;

    virtual CoarseStartSource coarse() const { return {}; }

    /// Writes the image, with 0 for negative pixels if `clip`, and saturated ones marked. Throws
    /// BadData where it is complex or not finite.
    virtual LoadedImage load(Executor& executor, bool clip,
                             std::optional<double> saturation) const = 0;
    /// Estimates of it (images.hpp, photons.hpp).
    virtual double background() const = 0;
    virtual std::optional<PhotonScale> photon_scale(int threads) const = 0;
    /// The estimate becomes the result.
    virtual ExecutionReport store(const Executor& executor,
                                  const DeconvolutionProblem& problem) const = 0;
};

class HostImages final : public CallerImages {
  public:
    HostImages(const ConstImageView& image, const ImageView& result, CoarseStart* start = nullptr)
        : image_(image), result_(result), start_(start) {}
    CoarseStartSource coarse() const override { return {start_, image_}; }
    LoadedImage load(Executor& executor, bool clip,
                     std::optional<double> saturation) const override;
    double background() const override;
    std::optional<PhotonScale> photon_scale(int threads) const override;
    ExecutionReport store(const Executor& executor,
                          const DeconvolutionProblem& problem) const override;

  private:
    ConstImageView image_;
    ImageView result_;
    CoarseStart* start_;
};

/// Loads the image, iterates until the method, held-out photons or the number of iterations end it,
/// and stores the estimate.
DeconvolveReport run(Executor& executor, const DeconvolutionProblem& problem,
                     const CallerImages& images, const ExecutionContext& context,
                     const DeconvolveRun& run_options);

/// Results of the iterations, apart from the estimate itself.
struct IterationOutcome {
    int best = 0;  ///< with photons held out: the number of steps that predicted these best
    DeconvolveReport report;
};

/// Number of iterations in a row without a better prediction of what is held out that end them.
inline constexpr int patience = 4;
/// A prediction is better where its error is less by this share: a flat curve falls on by chance,
/// while grains grow that the PSF hides from the prediction.
inline constexpr double least_gain = 3e-5;

/// Carries out at most `iterations`, from the beginning. `held_share` as of Executor::begin.
IterationOutcome iterate(Executor& executor, const DeconvolutionProblem& problem,
                         const LoadedImage& image, float held_share, IterationProgress& progress,
                         int iterations);

}  // namespace convolume::deconvolve
