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

class ViewImages final : public CallerImages {
  public:
    /// `images` has the image of each view; that of the first one also has the result of all. The
    /// other arguments are kept by reference. With `knows_levels`, the problems of the views give
    /// background, offset and gain, which are then not looked for.
    ViewImages(const std::vector<ViewProblem>& views,
               std::vector<std::unique_ptr<CallerImages>> images, ViewScales& scales,
               bool knows_levels = false)
        : views_(views), images_(std::move(images)), scales_(scales), knows_levels_(knows_levels) {}

    LoadedImage load(Executor& executor, const DeconvolutionProblem& problem,
                     const TimelineRow& row) override;
    ExecutionReport store(const Executor& executor, const DeconvolutionProblem& problem,
                          const TimelineRow& row) override;

    /// Returns what load() found in each view.
    const std::vector<LoadedImage>& found() const { return found_; }

  private:
    const std::vector<ViewProblem>& views_;
    std::vector<std::unique_ptr<CallerImages>> images_;
    ViewScales& scales_;
    bool knows_levels_;
    std::vector<LoadedImage> found_;
};

}  // namespace convolume::deconvolve
