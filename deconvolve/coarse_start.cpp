// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/coarse_start.hpp"

#include <utility>

#include "convolume/error.hpp"

namespace convolume::deconvolve {

CoarseStart::CoarseStart(const Problem& fine, const Coarsening& coarsening, int threads)
    : coarsening_(coarsening),
      fine_saturation_(fine.options.saturation),
      fine_object_(fine.object),
      fine_at_(fine.image_at),
      problem_(coarse_problem(fine, coarsening)),
      threads_(threads) {}

std::unique_ptr<CoarseStart> CoarseStart::make(const Problem& fine, const MakeRunner& make_runner,
                                               int threads, int levels) {
    if (fine.options.coarse_start == 0 || levels == 0) return {};
    // Planes are mostly further apart than pixels: detail along z that is lost in the last coarse
    // image takes many fine iterations. In the one before it is of less account.
    const Coarsening coarsening = coarsening_of(fine, levels == most_levels);
    if (!coarsening.any()) return {};
    std::unique_ptr<CoarseStart> start(new CoarseStart(fine, coarsening, threads));
    start->coarser_ = make(start->problem_, make_runner, threads, levels - 1);
    start->runner_ = make_runner(start->problem_);
    start->problem_.psf = {};  // the convolvers have it
    return start;
}

std::vector<Shape3> CoarseStart::images() const {
    std::vector<Shape3> all;
    if (coarser_) all = coarser_->images();
    all.push_back(problem_.image);
    return all;
}

index_t CoarseStart::host_bytes() const {
    // Runners count an image and a result of its extents; this result has the object's.
    const index_t result = static_cast<index_t>(sizeof(float)) *
                           (element_count(problem_.object) - element_count(problem_.image));
    return checked_add(checked_add(runner_->plan().host_bytes, result),
                       coarser_ ? coarser_->host_bytes() : 0);
}

index_t CoarseStart::device_bytes() const {
    return runner_->plan().device_bytes + (coarser_ ? coarser_->device_bytes() : 0);
}

double CoarseStart::voxel_steps() const {
    return static_cast<double>(problem_.options.iterations) *
               static_cast<double>(element_count(problem_.object)) +
           (coarser_ ? coarser_->voxel_steps() : 0);
}

double CoarseStart::share_of_time(int iterations) const {
    const double coarse = voxel_steps();
    return coarse / (coarse + static_cast<double>(iterations) *
                                  static_cast<double>(element_count(fine_object_)));
}

int CoarseStart::begin(const ConstImageView& image, double background, const Held& held,
                       Steps& fine, float usual, const ExecutionContext& context) {
    Volume coarse(problem_.image, PixelType::float32);
    const index_t compared =
        sum_pixels(image, fine_saturation_, held, coarsening_, threads_, coarse.view());
    Volume estimate(problem_.object, PixelType::float32);
    int iterations = 0;
    if (compared > 0) {
        // As it was found in the fine image, where it was not given.
        problem_.options.background = background * static_cast<double>(coarsening_.pixels());
        ExecutionContext own;  // the timeline has this time already, as the fine iterations'
        own.progress = context.progress;
        own.stop = context.stop;
        const HostImages images(std::as_const(coarse).view(), estimate.view(), coarser_.get());
        const DeconvolveReport report = runner_->execute(problem_, images, own, {});
        iterations = report.iterations + report.coarse_iterations;
    }
    spread(std::as_const(estimate).view(), problem_.image_at, coarsening_, fine_object_, fine_at_,
           iterations > 0 ? 1e-3F * usual : usual, threads_,
           [&](const float* values, index_t first, index_t count) {
               fine.write_estimate(values, first, count);
           });
    return iterations;
}

}  // namespace convolume::deconvolve
