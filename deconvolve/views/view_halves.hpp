// SPDX-License-Identifier: Apache-2.0
#pragma once
// Halves of the photons of several views, for the uncertainty of their common result. The photons
// of all views are divided in each split, as they all make the result.

#include <deque>
#include <functional>
#include <vector>

#include "deconvolve/photon_halves.hpp"
#include "deconvolve/uncertainty.hpp"
#include "deconvolve/views/view_images.hpp"

namespace convolume::deconvolve {

/// Returns the bytes of host memory that splits of several views take beside the deconvolution.
index_t uncertainty_bytes(const DeconvolutionProblem& together,
                          const std::vector<ViewProblem>& views);

class ViewHalves final : public HalfRestorer {
  public:
    /// Deconvolves images of the views.
    using Iterate = std::function<void(ViewImages&, const DeconvolveRun&, const ExecutionContext&)>;

    /// `images` has the image of each view, and `reports` what was found in it. The problem of all
    /// views and those of each have the options of halves until the destruction. All arguments but
    /// the reports are kept by reference.
    ViewHalves(DeconvolutionProblem& together, std::vector<ViewProblem>& views, ViewScales& scales,
               const std::vector<ConstImageView>& images,
               const std::vector<DeconvolveReport>& reports, Iterate iterate, int threads);
    void restore(int split, bool is_second, ImageSink& result, const DeconvolveRun& run,
                 const ExecutionContext& context) override;

  private:
    const std::vector<ViewProblem>& views_;
    ViewScales& scales_;
    std::deque<HostImages> images_;
    std::deque<HalfSource> halves_;
    std::deque<OptionsOfHalves> options_;
    Iterate iterate_;
};

}  // namespace convolume::deconvolve
