// SPDX-License-Identifier: Apache-2.0
#pragma once
// Halves of the photons of an image, and how they are deconvolved.

#include "deconvolve/caller_images.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "deconvolve/problem.hpp"

namespace convolume::deconvolve {

/// One half of the photons of an image, divided while it is read.
class HalfSource final : public ImageSource {
  public:
    /// The image is kept by reference. Its first pixel has the number `first_pixel` among all that
    /// are divided with the same seed.
    HalfSource(CallerImages& image, const DeconvolutionProblem& problem, const PhotonScale& photons,
               int threads, index_t first_pixel = 0);

    /// Chooses a half of a split, counted from 0.
    void choose(int split, bool is_second);
    StackFormat format() const override { return {shape_, PixelType::float32}; }
    void read_box(index_t, index_t, const Box3& box, const ImageView& target) override;

  private:
    float half_of(float value, index_t pixel) const;

    CallerImages& image_;
    Shape3 shape_;
    PixelBounds bounds_;
    std::uint64_t seed_;
    float gain_, offset_;
    int threads_;
    index_t first_pixel_;
    ThinningPurpose purpose_ = ThinningPurpose::splits;
    bool is_second_ = false;
};

/// Gives a problem the options with which halves are deconvolved, until it is destroyed.
class OptionsOfHalves {
  public:
    /// `report` is that of the whole image.
    OptionsOfHalves(DeconvolutionProblem& problem, const DeconvolveReport& report);
    ~OptionsOfHalves() {
        problem_.options = planned_;
        problem_.set_bounds(bounds_);
    }
    OptionsOfHalves(const OptionsOfHalves&) = delete;
    OptionsOfHalves& operator=(const OptionsOfHalves&) = delete;

  private:
    DeconvolutionProblem& problem_;
    const DeconvolveOptions planned_;
    const PixelBounds bounds_;
};

}  // namespace convolume::deconvolve
