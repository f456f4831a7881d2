// SPDX-License-Identifier: Apache-2.0
#pragma once
// One execution: the image goes in, iterations of the method are done, the estimate comes out.

#include "deconvolve/steps.hpp"

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
