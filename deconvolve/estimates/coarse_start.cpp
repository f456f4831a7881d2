// SPDX-License-Identifier: Apache-2.0

#include "deconvolve/estimates/coarse_start.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "convolume/error.hpp"
#include "core/pixels/rows.hpp"
#include "core/threads.hpp"
#include "deconvolve/estimates/constants.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "deconvolve/staged_planes.hpp"

namespace convolume::deconvolve {

Volume RestoredLevel::make_estimate() const {
    return Volume(problem.object, PixelType::float32,
                  runner.plan().on_device ? HostMemory::page_locked : HostMemory::ordinary);
}

double RestoredLevel::squared_distance(const Volume& a, const Volume& b, int threads) const {
    const Shape3& image = problem.image;
    const Index3& at = problem.image_at;
    std::vector<double> sums(static_cast<std::size_t>(image.z * image.y));
    parallel_for(image.z * image.y, threads, [&](index_t row, int) {
        const index_t z = at.z + row / image.y, y = at.y + row % image.y;
        const float* const p = &a.view().at<float>(z, y, at.x);
        const float* const q = &b.view().at<float>(z, y, at.x);
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (index_t x = 0; x < image.x; ++x) {
            const double difference = static_cast<double>(p[x]) - static_cast<double>(q[x]);
            sum += difference * difference;
        }
        sums[static_cast<std::size_t>(row)] = sum;
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

CoarseStart::CoarseStart(const DeconvolutionProblem& fine, const Coarsening& coarsening,
                         int threads)
    : coarsening_(coarsening),
      fine_bounds_(fine.bounds()),
      fine_object_(fine.object),
      fine_at_(fine.image_at),
      problem_(coarse_problem(fine, coarsening)),
      threads_(threads) {}

std::unique_ptr<CoarseStart> CoarseStart::make(const DeconvolutionProblem& fine,
                                               const MakeRunner& make_runner, int threads,
                                               int levels) {
    if (*fine.options.coarse_start == 0 || levels == 0) return {};
    // Planes are mostly further apart than pixels: detail along z that is lost in the last coarse
    // image would take many fine iterations. A coarser image before that one may lose it.
    const Coarsening coarsening = coarsening_of(fine, levels == most_levels);
    if (!coarsening.any()) return {};
    std::unique_ptr<CoarseStart> start(new CoarseStart(fine, coarsening, threads));
    start->coarser_ = make(start->problem_, make_runner, threads, levels - 1);
    start->runner_ = make_runner(start->problem_);
    start->problem_.release_taps();
    return start;
}

std::vector<Shape3> CoarseStart::images() const {
    std::vector<Shape3> all;
    if (coarser_) all = coarser_->images();
    all.push_back(problem_.image);
    return all;
}

index_t CoarseStart::host_bytes() const {
    // The runner's plan counts an image and a result of the image's extents, but the result of a
    // coarse start has the object's extents.
    const index_t result = static_cast<index_t>(sizeof(float)) *
                           (element_count(problem_.object) - element_count(problem_.image));
    return checked_add(checked_add(runner_->plan().host_bytes, result),
                       coarser_ ? coarser_->host_bytes() : 0);
}

index_t CoarseStart::device_bytes() const {
    return runner_->plan().device_bytes + (coarser_ ? coarser_->device_bytes() : 0);
}

double CoarseStart::voxel_steps() const {
    return static_cast<double>(*problem_.options.iterations) *
               static_cast<double>(element_count(problem_.object)) +
           (coarser_ ? coarser_->voxel_steps() : 0);
}

double CoarseStart::share_of_time(int iterations) const {
    const double coarse = voxel_steps();
    return coarse / (coarse + static_cast<double>(iterations) *
                                  static_cast<double>(element_count(fine_object_)));
}

ImageLevels CoarseStart::set_levels(const ImageLevels& fine, double gain) {
    const auto pixels = static_cast<double>(coarsening_.pixels());
    const ImageLevels levels{fine.background * pixels, fine.offset * pixels};
    problem_.options.background = levels.background;
    set_photons(problem_.options, {gain, levels.offset});
    return levels;
}

void CoarseStart::set_iterations(const std::vector<int>& numbers) {
    CoarseStart* start = this;
    for (const int number : numbers) {
        if (start == nullptr) return;
        start->problem_.options.iterations = number;
        start = start->coarser_.get();
    }
}

int CoarseStart::begin(const ConstImageView& image, const ImageLevels& levels,
                       const HeldOutPhotons& held_out, Executor& fine, float usual,
                       const ExecutionContext& context) {
    Volume coarse(problem_.image, PixelType::float32);
    const index_t compared = sum(image, held_out, coarse.view());
    Volume estimate(problem_.object, PixelType::float32);
    int iterations = 0;
    if (compared > 0) {
        set_levels(levels, held_out.photons.gain);
        // The timeline already counts this time as part of the fine iterations.
        ExecutionContext own;
        own.progress = context.progress;
        own.stop = context.stop;
        HostImages images(std::as_const(coarse).view(), estimate.view(), {coarser_.get(), nullptr});
        const DeconvolveReport report = runner_->execute(problem_, images, own, {});
        iterations = report.iterations + report.coarse_iterations;
    }
    interpolate_estimate({std::as_const(estimate).view(), problem_.image_at}, coarsening_,
                         fine_object_, fine_at_, iterations > 0 ? 1e-3F * usual : usual, threads_,
                         fine.staging(), [&](const float* values, index_t first, index_t count) {
                             fine.write_estimate(values, first, count);
                         });
    return iterations;
}

namespace {

// Returns the contrasts that the PSF leaves of waves along z, y and x that have four samples a
// period.
std::array<double, 3> contrasts_of(const Volume& psf) {
    const Shape3 shape = psf.shape();
    // Sums of a plane's taps by their index along y and x, modulo 4.
    using Phases = std::array<std::array<double, 4>, 2>;
    std::vector<Phases> planes(static_cast<std::size_t>(shape.z));
    parallel_for(shape.z, thread_count(0), [&](index_t z, int) {
        auto& [by_y, by_x] = planes[static_cast<std::size_t>(z)];
        for (index_t y = 0; y < shape.y; ++y) {
            const float* const row = psf.elements<float>() + (z * shape.y + y) * shape.x;
            std::array<double, 4> sums{};
            for (index_t x = 0; x < shape.x; ++x)
                sums[static_cast<std::size_t>(x % 4)] += static_cast<double>(row[x]);
            for (std::size_t k = 0; k < 4; ++k) by_x[k] += sums[k];
            by_y[static_cast<std::size_t>(y % 4)] += sums[0] + sums[1] + sums[2] + sums[3];
        }
    });
    std::array<std::array<double, 4>, 3> by_axis{};
    double all = 0;
    for (std::size_t z = 0; z < planes.size(); ++z)
        for (std::size_t k = 0; k < 4; ++k) {
            const auto& [by_y, by_x] = planes[z];
            by_axis[0][z % 4] += by_y[k];
            by_axis[1][k] += by_y[k];
            by_axis[2][k] += by_x[k];
            all += by_y[k];
        }
    std::array<double, 3> contrasts{1, 1, 1};
    for (std::size_t axis = 0; axis < 3 && all > 0; ++axis) {
        const auto& sums = by_axis[axis];
        contrasts[axis] = std::hypot(sums[0] - sums[2], sums[1] - sums[3]) / all;
    }
    return contrasts;
}

index_t floor_half(index_t value) {
    return value >= 0 ? value / 2 : -((1 - value) / 2);
}

// Returns the coarse PSF along an axis: every second sample of the PSF after a binomial filter of 5
// taps. Interpolation followed by sums of pairs is this filter, whose middle tap has a shift of 0.
Volume halved_taps(const Volume& psf, int axis, Index3& center) {
    constexpr std::array<double, 5> binomial{1. / 8, 4. / 8, 6. / 8, 4. / 8, 1. / 8};
    const index_t low = -center[axis];
    const index_t high = psf.shape()[axis] - 1 + low;
    const index_t first = -floor_half(2 - low);
    const index_t last = floor_half(high + 2);
    Shape3 extents = psf.shape();
    extents[axis] = last - first + 1;
    Volume halved(extents, PixelType::float32);
    const Shape3& from = psf.shape();
    parallel_for(extents.z * extents.y, thread_count(0), [&](index_t row, int) {
        std::vector<double> sums(static_cast<std::size_t>(extents.x));
        Index3 at{row / extents.y, row % extents.y, 0};
        const index_t middle = 2 * (at[axis] + first) - low;
        const index_t step = axis == 2 ? 2 : 1;
        for (index_t d = 0; d < 5; ++d) {
            at[axis] = middle + d - 2;  // along x, the first of the row's taps 2 x + at.x
            if (axis != 2 && (at[axis] < 0 || at[axis] >= from[axis])) continue;
            const float* const taps = psf.elements<float>() + (at.z * from.y + at.y) * from.x;
            const index_t offset = at.x;
            const index_t begin = ceil_div(std::max<index_t>(0, -offset), step);
            const index_t end =
                std::min(extents.x, ceil_div(std::max<index_t>(0, from.x - offset), step));
            const double weight = binomial[static_cast<std::size_t>(d)];
            for (index_t x = begin; x < end; ++x)
                sums[static_cast<std::size_t>(x)] +=
                    weight * static_cast<double>(taps[step * x + offset]);
        }
        std::transform(sums.begin(), sums.end(), halved.elements<float>() + row * extents.x,
                       [](double sum) { return static_cast<float>(sum); });
    });
    center[axis] = -first;
    return halved;
}

// Returns the coarse PSF. `center` is that of the PSF, and becomes that of the result.
Volume coarse_psf(const Volume& psf, const Coarsening& coarsening, Index3& center) {
    Volume halved;
    for (int axis = 0; axis < 3; ++axis)
        if (coarsening.factor(axis) > 1)
            halved = halved_taps(halved.bytes() > 0 ? halved : psf, axis, center);
    return halved;
}

double least_length(const VoxelSize& size) {
    return std::min({size.z_um, size.y_um, size.x_um});
}

// The two coarse samples that a fine sample is interpolated from, and the share of each.
struct InterpolationSource {
    index_t near = 0;
    index_t far = 0;
    float near_share = 1;
    float far_share = 0;
};

InterpolationSource interpolation_source(index_t fine, bool halved, index_t extent) {
    const auto inside = [&](index_t i) { return std::clamp<index_t>(i, 0, extent - 1); };
    if (!halved) return {inside(fine), inside(fine), 1, 0};
    const index_t near = floor_half(fine);
    // A fine voxel has half of a coarse voxel's light, and three quarters of that come from the
    // nearer one.
    return {inside(near), inside(fine == 2 * near ? near - 1 : near + 1), 0.375F, 0.125F};
}

}  // namespace

Shape3 Coarsening::image(const Shape3& fine) const {
    return {fine.z / factor(0), fine.y / factor(1), fine.x / factor(2)};
}

Coarsening coarsening_of(const DeconvolutionProblem& fine, bool keeps_planes) {
    Coarsening coarsening;
    const std::optional<Boundary>& boundary = fine.options.boundary;
    const std::array<double, 3> contrasts = contrasts_of(fine.psf);
    for (int axis = 0; axis < 3; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        const index_t extent = fine.image[axis];
        // A periodic axis of an odd number of pixels cannot be halved.
        const bool fits = !boundary || boundary->kind != BoundaryKind::wrap || extent % 2 == 0;
        coarsening.halved[a] =
            extent >= coarsening::least_extent && fits && contrasts[a] < coarsening::most_contrast;
    }
    if (keeps_planes && (coarsening.halved[1] || coarsening.halved[2]))
        coarsening.halved[0] = false;
    return coarsening;
}

DeconvolutionProblem coarse_problem(const DeconvolutionProblem& fine,
                                    const Coarsening& coarsening) {
    DeconvolutionProblem coarse;
    coarse.options = fine.options;
    coarse.traits = fine.traits;
    DeconvolveOptions& options = coarse.options;
    options.splits = 0;
    coarse.image = coarse.object = coarsening.image(fine.image);
    coarse.psf_sum = fine.psf_sum;
    coarse.has_light = fine.has_light;
    Index3 center = fine.options.center.index;
    coarse.psf = coarse_psf(fine.psf, coarsening, center);
    for (const Volume& deeper : fine.deeper_psfs) {
        Index3 deeper_center = fine.options.center.index;
        coarse.deeper_psfs.push_back(coarse_psf(deeper, coarsening, deeper_center));
    }
    // A coarse plane is in the middle of two fine ones.
    coarse.psf_planes = fine.psf_planes;
    for (double& plane : coarse.psf_planes)
        if (coarsening.halved[0]) plane = (plane - 0.5) / 2;
    options.center.index = center;
    if (!options.boundary)
        for (int axis = 0; axis < 3; ++axis) {
            const index_t taps = coarse.psf.shape()[axis];
            coarse.object[axis] = checked_add(coarse.image[axis], taps - 1);
            coarse.image_at[axis] = taps - 1 - center[axis];
        }
    options.iterations = options.coarse_start;
    options.stop.reset();
    options.hold_out = false;  // photons were held out of the fine image
    options.image_type.reset();
    options.streamed = false;
    if (options.saturation) coarse.set_bounds(encoded_bounds());
    if (options.background) *options.background *= static_cast<double>(coarsening.pixels());
    const VoxelSize& size = fine.options.voxel;
    options.voxel = {size.z_um * static_cast<double>(coarsening.factor(0)),
                     size.y_um * static_cast<double>(coarsening.factor(1)),
                     size.x_um * static_cast<double>(coarsening.factor(2))};
    // Gradients are divided by the shortest edge of a voxel: this keeps the penalty of an object.
    coarse.tv_scale = fine.tv_scale * least_length(size) / least_length(options.voxel);
    if (options.tv_weight) *options.tv_weight *= least_length(size) / least_length(options.voxel);
    if (coarse.traits.penalizes_variation()) coarse.squared_taps = squared_taps_of(coarse.psf);
    coarse.reserved_host_bytes = fine.reserved_host_bytes;
    return coarse;
}

float coarse_saturation() {
    return std::numeric_limits<float>::max();
}

index_t sum_pixels(const ConstImageView& image, const PixelBounds& bounds,
                   const HeldOutPhotons& held_out, const Coarsening& coarsening, int threads,
                   const ImageView& coarse) {
    const auto gain = static_cast<float>(held_out.photons.gain);
    const auto offset = static_cast<float>(held_out.photons.offset);
    const float kept_share = 1 - std::ldexp(1.0F, -held_out.halvings);  // of held-out photons
    const pixels::RowGather gather(identity_indices(image.shape.x));
    const Shape3 shape = coarse.shape;
    std::vector<index_t> compared(static_cast<std::size_t>(shape.z * shape.y));
    parallel_ranges(shape.z * shape.y, threads, [&](index_t first, index_t last, int) {
        std::vector<float> row(static_cast<std::size_t>(image.shape.x));
        std::vector<char> is_bound;
        for (index_t k = first; k < last; ++k) {
            is_bound.assign(static_cast<std::size_t>(shape.x), 0);
            auto* const sums = static_cast<float*>(coarse.at(k / shape.y, k % shape.y, 0));
            std::fill_n(sums, shape.x, 0.0F);
            for (index_t i = 0; i < coarsening.factor(0) * coarsening.factor(1); ++i) {
                const index_t z = k / shape.y * coarsening.factor(0) + i / coarsening.factor(1);
                const index_t y = k % shape.y * coarsening.factor(1) + i % coarsening.factor(1);
                pixels::load_row(image, z, y, gather, {}, row.data());
                const index_t number = (z * image.shape.y + y) * image.shape.x;
                for (index_t x = 0; x < shape.x * coarsening.factor(2); ++x) {
                    float value = std::max(row[static_cast<std::size_t>(x)], 0.0F);
                    float& sum = sums[x / coarsening.factor(2)];
                    if (bounds.apply_to(value)) {
                        const std::optional<float> bound = bounds.bound_of(value);
                        is_bound[static_cast<std::size_t>(x / coarsening.factor(2))] = 1;
                        value = bound.value_or(coarse_saturation());
                        if (bound && held_out.halvings > 0)
                            value = offset + kept_share * std::max(value - offset, 0.0F);
                    } else if (held_out.halvings > 0) {
                        PixelRandomBits bits(1, ThinningPurpose::hold_out, number + x);
                        value -= drawn_value(value, held_out.halvings, gain, offset, bits);
                    }
                    sum = value < coarse_saturation() && sum < coarse_saturation()
                              ? sum + value
                              : coarse_saturation();
                }
            }
            for (index_t x = 0; x < shape.x; ++x)
                if (is_bound[static_cast<std::size_t>(x)] != 0 && sums[x] < coarse_saturation())
                    sums[x] = encoded_bound(sums[x]);
            compared[static_cast<std::size_t>(k)] = std::count_if(
                sums, sums + shape.x, [](float sum) { return sum < coarse_saturation(); });
        }
    });
    return std::accumulate(compared.begin(), compared.end(), index_t{0});
}

void interpolate_estimate(const PlacedEstimate& estimate, const Coarsening& coarsening,
                          const Shape3& object, const Index3& at, float least, int threads,
                          HostMemory memory,
                          const std::function<void(const float*, index_t, index_t)>& write) {
    const ConstImageView& coarse = estimate.voxels;
    // Counts from the fine voxel at which the first coarse voxel begins.
    const auto place = [&](int axis, index_t i) {
        return interpolation_source(i - at[axis] + coarsening.factor(axis) * estimate.at[axis],
                                    coarsening.halved[static_cast<std::size_t>(axis)],
                                    coarse.shape[axis]);
    };
    std::vector<InterpolationSource> columns;
    for (index_t x = 0; x < object.x; ++x) columns.push_back(place(2, x));
    StagedPlanes staged(memory, object);
    const auto fill = [&](const IndexRange& planes, float* values) {
        parallel_ranges(planes.count() * object.y, threads, [&](index_t begin, index_t end, int) {
            std::vector<float> row(static_cast<std::size_t>(coarse.shape.x));
            for (index_t i = begin; i < end; ++i) {
                const InterpolationSource in_z = place(0, planes.begin + i / object.y);
                const InterpolationSource in_y = place(1, i % object.y);
                const auto source = [&](index_t plane_z, index_t row_y) {
                    return static_cast<const float*>(coarse.at(plane_z, row_y, 0));
                };
                const float* const a = source(in_z.near, in_y.near);
                const float* const b = source(in_z.near, in_y.far);
                const float* const c = source(in_z.far, in_y.near);
                const float* const d = source(in_z.far, in_y.far);
                for (index_t x = 0; x < coarse.shape.x; ++x)
                    row[static_cast<std::size_t>(x)] =
                        in_z.near_share * (in_y.near_share * a[x] + in_y.far_share * b[x]) +
                        in_z.far_share * (in_y.near_share * c[x] + in_y.far_share * d[x]);
                float* const target = values + i * object.x;
                for (index_t x = 0; x < object.x; ++x) {
                    const InterpolationSource& in_x = columns[static_cast<std::size_t>(x)];
                    const float value = in_x.near_share * row[static_cast<std::size_t>(in_x.near)] +
                                        in_x.far_share * row[static_cast<std::size_t>(in_x.far)];
                    target[x] = std::max(value, least);
                }
            }
        });
    };
    staged.fill_and_copy(object.z, fill, write);
}

}  // namespace convolume::deconvolve
