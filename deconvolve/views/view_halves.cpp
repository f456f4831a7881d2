// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/views/view_halves.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace convolume::deconvolve {

index_t uncertainty_bytes(const DeconvolutionProblem& together,
                          const std::vector<ViewProblem>& views) {
    // Views are read one after the other, before the result is stored.
    index_t read = half_bytes(together);
    for (const ViewProblem& view : views) read = std::max(read, half_bytes(view.problem));
    return checked_add(split_sums_bytes(together.image), read);
}

ViewHalves::ViewHalves(DeconvolutionProblem& together, std::vector<ViewProblem>& views,
                       ViewScales& scales, const std::vector<ConstImageView>& images,
                       const std::vector<DeconvolveReport>& reports, Iterate iterate, int threads)
    : views_(views), scales_(scales), iterate_(std::move(iterate)) {
    for (std::size_t v = 0; v < views.size(); ++v) {
        images_.emplace_back(images[v], ImageView{});
        halves_.emplace_back(images_.back(), views[v].problem, reports[v].photons, threads,
                             scales.first(v));
    }
    for (std::size_t v = 0; v < views.size(); ++v)
        options_.emplace_back(views[v].problem, reports[v]);
    options_.emplace_back(together, reports.front());
}

void ViewHalves::restore(int split, bool is_second, ImageSink& result, const DeconvolveRun& run,
                         const ExecutionContext& context) {
    // Reading the images records its own time.
    ExecutionContext untimed;
    untimed.stop = context.stop;
    std::vector<std::unique_ptr<CallerImages>> images;
    for (HalfSource& half : halves_) {
        half.choose(split, is_second);
        images.push_back(std::make_unique<StreamedImages>(half, result, untimed));
    }
    ViewImages all(views_, std::move(images), scales_);
    iterate_(all, run, context);
}

}  // namespace convolume::deconvolve
