// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "deconvolve/executors/executor.hpp"

// One execution: the image goes in, iterations of the method are done, the estimate comes out.
namespace convolume::deconvolve {

class CoarseStart;

/// A start on coarser images, and the image in host memory whose pixels these are sums of.
struct CoarseImages {
    CoarseStart* start = nullptr;  ///< null: there is none
    ConstImageView image{};
};

/// The caller's image and result, wherever they are.
class Images {
  public:
    virtual ~Images() = default;

    virtual CoarseImages coarse() const { return {}; }

    /// Writes the image, with 0 for negative pixels if `clip`, and saturated ones marked. Throws
    /// BadData where it is complex or not finite.
    virtual LoadedImage load(Steps& steps, bool clip, std::optional<double> saturation) const = 0;
    /// Estimates of it (pixels.hpp, photon_scale.hpp).
    virtual double background() const = 0;
    virtual std::optional<PhotonScale> photon_scale(int threads) const = 0;
    /// The estimate becomes the result.
    virtual ExecutionReport store(const Steps& steps, const Problem& problem) const = 0;
};

class HostImages final : public Images {
  public:
    HostImages(const ConstImageView& image, const ImageView& result, CoarseStart* start = nullptr)
        : image_(image), result_(result), start_(start) {}
    CoarseImages coarse() const override { return {start_, image_}; }
    LoadedImage load(Steps& steps, bool clip, std::optional<double> saturation) const override;
    double background() const override;
    std::optional<PhotonScale> photon_scale(int threads) const override;
    ExecutionReport store(const Steps& steps, const Problem& problem) const override;

  private:
    ConstImageView image_;
    ImageView result_;
    CoarseStart* start_;
};

DeconvolveReport run(Steps& steps, const Problem& problem, const Images& images,
                     const ExecutionContext& context, const DeconvolveRun& along);

}  // namespace convolume::deconvolve

// The loop of Richardson and Lucy's iteration: where steps start from, and when they end.
namespace convolume::deconvolve {

/// So many iterations in a row without a better prediction of what is held out are the end.
inline constexpr int patience = 4;
/// A prediction is better where its error is less by this share: a flat curve falls on by chance,
/// while grains grow that the PSF hides from the prediction.
inline constexpr double least_gain = 3e-5;
/// So many steps in a row without consensus are the end of rlgc: single draws disagree by chance.
inline constexpr int long_dispute = 5;

/// At most `iterations`, from the beginning. `held_share` as of Steps::begin.
Outcome iterate(Steps& steps, const Problem& problem, const LoadedImage& image, float held_share,
                IterationProgress& progress, int iterations);

}  // namespace convolume::deconvolve
