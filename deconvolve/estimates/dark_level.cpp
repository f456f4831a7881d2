// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/estimates/dark_level.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "convolume/image_view.hpp"
#include "core/order_statistics.hpp"
#include "core/threads.hpp"
#include "deconvolve/estimates/coarse_start.hpp"
#include "deconvolve/estimates/constants.hpp"

namespace convolume::deconvolve {

namespace {

// Returns the axes to halve next. Planes are mostly further apart than pixels.
Coarsening next_coarsening(const DeconvolutionProblem& problem, bool with_z) {
    Coarsening coarsening;
    const std::optional<Boundary>& boundary = problem.options.boundary;
    for (int axis = with_z ? 0 : 1; axis < 3; ++axis) {
        const index_t extent = problem.image[axis];
        const bool fits = !boundary || boundary->kind != BoundaryKind::wrap || extent % 2 == 0;
        coarsening.halved[static_cast<std::size_t>(axis)] =
            extent >= 2 * haze::least_coarse_extent && fits;
    }
    return coarsening;
}

bool is_compared(const ConstImageView& coarse, index_t i) {
    return static_cast<const float*>(coarse.data)[i] < coarse_saturation();
}

// Returns the mean of each voxel and its neighbors, in a box of three along each axis. Voxels whose
// pixels are left out are skipped: no data hold them up.
std::vector<float> local_means(const Volume& estimate, const ConstImageView& coarse) {
    const Shape3 shape = estimate.shape();
    const float* const values = estimate.elements<float>();
    std::vector<float> means;
    means.reserve(static_cast<std::size_t>(element_count(shape)));
    const auto from = [](index_t i) { return std::max<index_t>(0, i - 1); };
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                if (!is_compared(coarse, (z * shape.y + y) * shape.x + x)) continue;
                double sum = 0;
                index_t count = 0;
                for (index_t k = from(z); k < std::min(z + 2, shape.z); ++k)
                    for (index_t j = from(y); j < std::min(y + 2, shape.y); ++j)
                        for (index_t i = from(x); i < std::min(x + 2, shape.x); ++i) {
                            const index_t near = (k * shape.y + j) * shape.x + i;
                            if (!is_compared(coarse, near)) continue;
                            sum += static_cast<double>(values[near]);
                            ++count;
                        }
                means.push_back(static_cast<float>(sum / static_cast<double>(count)));
            }
    return means;
}

// Returns the value that a share of the voxels' local means is below.
double dark_quantile(const Volume& estimate, const ConstImageView& coarse, double share) {
    std::vector<float> means = local_means(estimate, coarse);
    const double darker = share * static_cast<double>(means.size());
    return static_cast<double>(value_of_rank(means, static_cast<std::size_t>(darker)));
}

// Returns the mean of the coarse pixels that are compared.
double mean_of(const ConstImageView& coarse) {
    const auto* const values = static_cast<const float*>(coarse.data);
    double sum = 0;
    index_t compared = 0;
    for (index_t i = 0; i < element_count(coarse.shape); ++i) {
        if (!is_compared(coarse, i)) continue;
        sum += static_cast<double>(values[i]);
        ++compared;
    }
    return deconvolve::mean_of(sum, compared);
}

// Returns the mean square of an estimate relative to its squared mean, where pixels are compared.
double contrast_of(const Volume& estimate, const ConstImageView& coarse) {
    const float* const values = estimate.elements<float>();
    index_t count = 0;
    double sum = 0, squares = 0;
    for (index_t i = 0; i < element_count(estimate.shape()); ++i) {
        if (!is_compared(coarse, i)) continue;
        ++count;
        const auto value = static_cast<double>(values[i]);
        sum += value;
        squares += value * value;
    }
    return sum > 0 ? static_cast<double>(count) * squares / (sum * sum) : 0;
}

// Returns the share of a sparse specimen's voxels that are darker than its background.
double share_of_darker(double contrast, double light) {
    const auto between = [](double value, double from, double to) {
        return std::clamp((value - from) / (to - from), 0.0, 1.0);
    };
    if (contrast < haze::point_contrast) {
        const double share =
            std::min(1.0, std::pow(light / haze::little_light, haze::power_of_light));
        return std::max(haze::least_darker,
                        haze::most_darker * share *
                            between(contrast, haze::sparse_contrast, haze::clear_contrast));
    }
    return std::lerp(haze::most_darker, haze::least_darker,
                     between(light, haze::little_light, haze::much_light));
}

}  // namespace

double share_of_haze(const DeconvolutionProblem& problem) {
    const Shape3 shape = problem.psf.shape();
    const Index3& center = problem.options.center.index;
    std::vector<std::array<double, 2>> rows(static_cast<std::size_t>(shape.z * shape.y));
    parallel_for(shape.z * shape.y, thread_count(0), [&](index_t row, int) {
        const float* const taps = problem.psf.elements<float>() + row * shape.x;
        const bool is_near = std::abs(row % shape.y - center.y) <= regions::edge;
        const index_t begin = is_near ? std::max<index_t>(0, center.x - regions::edge) : 0;
        const index_t end = is_near ? std::min(shape.x, center.x + regions::edge + 1) : 0;
        const double near = std::accumulate(taps + begin, taps + end, 0.0);
        const double beyond = std::accumulate(taps, taps + begin, 0.0) +
                              std::accumulate(taps + end, taps + shape.x, 0.0);
        rows[static_cast<std::size_t>(row)] = {beyond, near + beyond};
    });
    double beyond = 0, all = 0;
    for (const auto& sums : rows) {
        beyond += sums[0];
        all += sums[1];
    }
    return all > 0 ? beyond / all : 0;
}

std::shared_ptr<DarkLevel> DarkLevel::make(const DeconvolutionProblem& fine, int threads) {
    if (fine.options.background || !fine.traits.counts_photons) return {};
    std::shared_ptr<DarkLevel> level(new DarkLevel(fine, threads));
    const index_t most =
        std::max(haze::coarse_pixels, element_count(fine.image) / haze::fine_for_coarse);
    DeconvolutionProblem& coarse = level->problem_;
    const DeconvolutionProblem* from = &fine;
    bool with_z = false;
    while (element_count(from->image) > most) {
        const Coarsening coarsening = next_coarsening(*from, with_z);
        if (!coarsening.any()) break;
        coarse = coarse_problem(*from, coarsening);
        from = &coarse;
        for (int axis = 0; axis < 3; ++axis) level->factors_[axis] *= coarsening.factor(axis);
        with_z = !with_z;
    }
    if (from == &fine) return {};
    level->has_haze_ = share_of_haze(fine) > haze::hazy_share;
    DeconvolveOptions& options = coarse.options;
    options.method = DeconvolveMethod::richardson_lucy;
    options.acceleration = Acceleration::none;
    options.iterations = haze::dark_iterations;
    options.coarse_start = 0;
    coarse.traits = traits_of(options);
    EngineChoice engines;
    engines.device = EngineChoice::Device::cpu;
    engines.threads = threads;
    std::string why_not_on_device;
    level->runner_ = place(coarse, engines, why_not_on_device);
    coarse.psf = {};  // the convolvers hold the PSF's samples
    return level;
}

DarkLevel::Sums::Sums(const DarkLevel& level)
    : level_(level), coarse_(level.problem_.image, PixelType::float32) {
    std::fill_n(coarse_.elements<float>(), element_count(coarse_.shape()), 0.0F);
}

void DarkLevel::Sums::add_plane(const float* pixels, index_t z) {
    const Shape3 shape = coarse_.shape();
    const Shape3& factors = level_.factors_;
    if (z / factors.z >= shape.z) return;
    parallel_for(shape.y, level_.threads_, [&](index_t y, int) {
        float* const sums = coarse_.elements<float>() + (z / factors.z * shape.y + y) * shape.x;
        for (index_t j = y * factors.y; j < (y + 1) * factors.y; ++j)
            for (index_t x = 0; x < shape.x; ++x)
                for (index_t i = x * factors.x; i < (x + 1) * factors.x; ++i) {
                    const float value = pixels[j * level_.fine_.x + i];
                    if (!richardson_lucy::is_measured(value))
                        sums[x] = coarse_saturation();
                    else if (sums[x] < coarse_saturation())
                        sums[x] += value;
                }
    });
}

void DarkLevel::Sums::add(const ConstImageView& image, std::optional<double> saturation) {
    const Shape3& shape = image.shape;
    Volume plane({1, shape.y, shape.x}, PixelType::float32);
    auto* const values = plane.elements<float>();
    for (index_t z = 0; z < shape.z; ++z) {
        convert_pixels(subview(image, {{z, 0, 0}, {z + 1, shape.y, shape.x}}), plane.view());
        for (index_t i = 0; i < shape.y * shape.x; ++i) {
            const bool full = saturation && static_cast<double>(values[i]) >= *saturation;
            values[i] = full ? richardson_lucy::not_compared : std::max(values[i], 0.0F);
        }
        add_plane(values, z);
    }
}

Volume DarkLevel::restore(const ConstImageView& coarse, double background, int iterations) {
    problem_.options.background = background;
    problem_.options.iterations = iterations;
    Volume estimate(coarse.shape, PixelType::float32);
    HostImages images(coarse, estimate.view());
    runner_->execute(problem_, images, {}, {});
    return estimate;
}

HazeBackground DarkLevel::find(const Sums& sums, const PhotonScale& photons) {
    const double offset = photons.offset;
    const auto pixels = static_cast<double>(factors_.z * factors_.y * factors_.x);
    problem_.options.offset = offset * pixels;
    const ConstImageView coarse = sums.coarse_.view();
    if (std::none_of(sums.coarse_.elements<float>(),
                     sums.coarse_.elements<float>() + element_count(coarse.shape),
                     [](float sum) { return sum < coarse_saturation(); }))
        return {offset, offset};
    const Volume hazy = restore(coarse, offset * pixels, haze::dark_iterations);
    const double dark = offset + dark_quantile(hazy, coarse, haze::darker_share) / pixels;
    if (!has_haze_) return {dark, dark};
    const Volume estimate = restore(coarse, dark * pixels, haze::sparse_iterations);
    const double contrast = contrast_of(estimate, coarse);
    if (contrast < haze::sparse_contrast) return {dark, dark};
    const double mean = mean_of(coarse) / pixels;
    const double light_to_noise = (mean - dark) * std::sqrt(photons.gain / (mean - offset));
    const double share = share_of_darker(contrast, light_to_noise);
    return {dark + dark_quantile(estimate, coarse, share) / pixels, dark, true};
}

}  // namespace convolume::deconvolve
