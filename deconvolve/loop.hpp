// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loop of a deconvolution: loads the image, carries out iterations, and stores the estimate.

#include "deconvolve/executors/executor.hpp"

namespace convolume::deconvolve {

class CoarseStart;

/// A coarse start, and the image in host memory whose pixels it sums.
struct CoarseStartSource {
    CoarseStart* start = nullptr;  ///< null: there is no coarse start
    ConstImageView image{};
};

/// The caller's image and result, in host memory or in a GPU's.
class CallerImages {
  public:
    virtual ~CallerImages() = default;

    virtual CoarseStartSource coarse() const { return {}; }

    /// Writes the image to the executor. `clip` sets negative pixels to 0; saturated pixels are
    /// marked. Throws BadData if the image is complex or has a value that is not finite.
    virtual LoadedImage load(Executor& executor, bool clip,
                             std::optional<double> saturation) const = 0;
    /// Estimates from the image's pixels (images.hpp, photons.hpp).
    virtual ImageBackground background(std::optional<double> given) const = 0;
    virtual std::optional<PhotonScale> photon_scale(int threads) const = 0;
    /// Stores the executor's estimate in the caller's result.
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
    ImageBackground background(std::optional<double> given) const override;
    std::optional<PhotonScale> photon_scale(int threads) const override;
    ExecutionReport store(const Executor& executor,
                          const DeconvolutionProblem& problem) const override;

  private:
    ConstImageView image_;
    ImageView result_;
    CoarseStart* start_;
};

/// Loads the image, iterates until the method, held-out photons or the number of iterations end the
/// loop, and stores the estimate.
DeconvolveReport run(Executor& executor, const DeconvolutionProblem& problem,
                     const CallerImages& images, const ExecutionContext& context,
                     const DeconvolveRun& run_options);

/// Results of the iterations, apart from the estimate itself.
struct IterationOutcome {
    int best = 0;  ///< number of steps that predicted the held-out photons best
    DeconvolveReport report;
};

/// Number of consecutive iterations without a better prediction of held-out photons that end the
/// loop.
inline constexpr int patience = 4;
/// Least relative decrease of the error for a prediction to count as better. A flat curve goes on
/// falling by chance, while the estimate becomes grainy in a way that the PSF hides from the
/// prediction.
inline constexpr double least_gain = 3e-5;

/// Carries out at most `iterations` iterations from the first estimate on. Executor::begin explains
/// `held_out_share`.
IterationOutcome iterate(Executor& executor, const DeconvolutionProblem& problem,
                         const LoadedImage& image, float held_out_share,
                         IterationProgress& progress, int iterations);

}  // namespace convolume::deconvolve
