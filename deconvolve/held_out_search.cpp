// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/held_out_search.hpp"

#include <algorithm>
#include <utility>

#include "convolume/error.hpp"
#include "core/threads.hpp"
#include "deconvolve/caller_images.hpp"
#include "deconvolve/methods/richardson_lucy_elements.hpp"

namespace convolume::deconvolve {

namespace {

/// Edge of a cell of a plane whose light is added up.
constexpr index_t cell = 32;
/// Fewest pixels of a part.
constexpr index_t least_part = 1 << 20;
/// Largest share of the object's voxels that the object of a part has.
constexpr double most_voxels = 0.25;

// Returns the extents of a part: all planes, but about a seventh of each.
Shape3 part_of(const Shape3& image) {
    const auto shorten = [](index_t extent) { return ceil_div(3 * extent, 8); };
    return {image.z, shorten(image.y), shorten(image.x)};
}

}  // namespace

HeldOutSearch::HeldOutSearch(const DeconvolutionProblem& whole, DeconvolutionProblem&& problem,
                             int threads)
    : whole_(whole.image),
      whole_object_(whole.object),
      problem_(std::move(problem)),
      threads_(threads),
      cells_y_(ceil_div(whole_.y, cell)),
      cells_x_(ceil_div(whole_.x, cell)) {}

std::unique_ptr<HeldOutSearch> HeldOutSearch::make(const DeconvolutionProblem& whole,
                                                   const ConstImageView& psf,
                                                   const DeconvolveOptions& options, int threads,
                                                   const MakeRunner& make_runner) {
    const Shape3 part = part_of(whole.image);
    if (!options.hold_out || options.coarse_start > 0 || element_count(part) < least_part)
        return {};
    DeconvolveOptions of_part = options;
    of_part.boundary.reset();  // the object goes on beyond a part
    of_part.streamed = false;
    of_part.max_host_bytes = whole.options.max_host_bytes;
    DeconvolutionProblem problem = resolve_problem(part, psf, of_part, threads);
    problem.only_searches = true;
    if (static_cast<double>(element_count(problem.object)) >
        most_voxels * static_cast<double>(element_count(whole.object)))
        return {};
    std::unique_ptr<HeldOutSearch> search(new HeldOutSearch(whole, std::move(problem), threads));
    search->runner_ = make_runner(search->problem_);
    search->problem_.psf = {};  // the convolvers hold the PSF's samples
    search->problem_.unmatched = {};
    return search;
}

index_t HeldOutSearch::host_bytes() const {
    return checked_add(runner_->plan().host_bytes,
                       cells_y_ * cells_x_ * static_cast<index_t>(sizeof(double)));
}

double HeldOutSearch::share_of_time() const {
    const auto part = static_cast<double>(element_count(problem_.object));
    return part / (part + static_cast<double>(element_count(whole_object_)));
}

void HeldOutSearch::begin_image() {
    light_.assign(static_cast<std::size_t>(cells_y_ * cells_x_), 0.0);
}

void HeldOutSearch::add_plane(const float* pixels) {
    parallel_for(cells_y_, threads_, [&](index_t row, int) {
        double* const sums = light_.data() + row * cells_x_;
        for (index_t y = row * cell; y < std::min((row + 1) * cell, whole_.y); ++y)
            for (index_t x = 0; x < whole_.x; ++x) {
                const float value = pixels[y * whole_.x + x];
                if (richardson_lucy::is_compared(value)) sums[x / cell] += value;
            }
    });
}

Box3 HeldOutSearch::brightest() const {
    const Shape3& part = problem_.image;
    const index_t height = std::min(ceil_div(part.y, cell), cells_y_);
    const index_t width = std::min(ceil_div(part.x, cell), cells_x_);
    // sum(y, x) is the light of all cells above and to the left.
    const index_t row = cells_x_ + 1;
    std::vector<double> sum(static_cast<std::size_t>((cells_y_ + 1) * row));
    const auto at = [&](index_t y, index_t x) -> double& {
        return sum[static_cast<std::size_t>(y * row + x)];
    };
    for (index_t y = 0; y < cells_y_; ++y)
        for (index_t x = 0; x < cells_x_; ++x)
            at(y + 1, x + 1) = at(y, x + 1) + at(y + 1, x) - at(y, x) +
                               light_[static_cast<std::size_t>(y * cells_x_ + x)];
    double most = -1;
    Index3 begin;
    for (index_t y = 0; y + height <= cells_y_; ++y)
        for (index_t x = 0; x + width <= cells_x_; ++x) {
            const double light =
                at(y + height, x + width) - at(y, x + width) - at(y + height, x) + at(y, x);
            if (light <= most) continue;
            most = light;
            begin = {0, std::min(y * cell, whole_.y - part.y),
                     std::min(x * cell, whole_.x - part.x)};
        }
    return {begin, {part.z, begin.y + part.y, begin.x + part.x}};
}

DeconvolveReport HeldOutSearch::find(const ConstImageView& part, const LoadedImage& image,
                                     const DeconvolveRun& run, const ExecutionContext& context) {
    problem_.options.background = image.background;
    problem_.options.gain = image.photons.gain;
    problem_.options.offset = image.photons.offset;
    HostImages images(part, {});
    return runner_->execute(problem_, images, context, run);
}

}  // namespace convolume::deconvolve
