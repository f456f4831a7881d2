// SPDX-License-Identifier: Apache-2.0
#pragma once
// The images of several views and their common result. Each image is loaded as a single one would
// be, with the levels of its own, and is then brought to units that all views share: photons above
// the offset, divided by the gain of the first view.

#include <memory>
#include <utility>
#include <vector>

#include "convolume/view_deconvolver.hpp"
#include "deconvolve/caller_images.hpp"
#include "deconvolve/views/view_scales.hpp"

namespace convolume::deconvolve {

/// A view as a problem of its own, whose levels are found from its image.
struct ViewProblem {
    DeconvolutionProblem problem;
    View view;  ///< with a copy of the mask, if there is one
    Volume mask;
    double light = 1;        ///< ViewLevels::light
    index_t border = 0;      ///< ViewLevels::border
    double full_weight = 0;  ///< ViewLevels::full_weight
};

/// Whether all pixels of the views have a weight of 1 in the likelihood, so that weights are not
/// needed: no view has a mask or a border, and the result covers all of them.
bool weighs_all_alike(const std::vector<ViewProblem>& views, const Shape3& result);

class ViewImages final : public CallerImages {
  public:
    /// `images` has the image of each view; that of the first one also has the result of all. The
    /// other arguments are kept by reference.
    ViewImages(const std::vector<ViewProblem>& views,
               std::vector<std::unique_ptr<CallerImages>> images, ViewScales& scales)
        : views_(views), images_(std::move(images)), scales_(scales) {}

    LoadedImage load(Executor& executor, const DeconvolutionProblem& problem,
                     const TimelineRow& row) override;
    ExecutionReport store(const Executor& executor, const DeconvolutionProblem& problem,
                          const TimelineRow& row) override;

    /// Returns what load() found in each view.
    const std::vector<LoadedImage>& found() const { return found_; }

  private:
    void write_weights(Executor& executor, const Shape3& result) const;

    const std::vector<ViewProblem>& views_;
    std::vector<std::unique_ptr<CallerImages>> images_;
    ViewScales& scales_;
    std::vector<LoadedImage> found_;
};

}  // namespace convolume::deconvolve
