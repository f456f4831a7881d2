// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/estimates/dark_level.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include "convolume/image_view.hpp"
#include "core/threads.hpp"
#include "deconvolve/estimates/coarse_start.hpp"
#include "deconvolve/estimates/constants.hpp"
#include "deconvolve/estimates/light_division.hpp"
#include "deconvolve/estimates/photons.hpp"

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
            extent >= 2 * coarsening::least_extent && fits;
    }
    return coarsening;
}

bool is_compared(const ConstImageView& coarse, index_t i) {
    return static_cast<const float*>(coarse.data)[i] < coarse_saturation();
}

}  // namespace

double share_of_haze(const DeconvolutionProblem& problem, index_t reach) {
    const Shape3 shape = problem.psf.shape();
    const Index3& center = problem.options.center.index;
    std::vector<std::array<double, 2>> rows(static_cast<std::size_t>(shape.z * shape.y));
    parallel_for(shape.z * shape.y, thread_count(0), [&](index_t row, int) {
        const float* const taps = problem.psf.elements<float>() + row * shape.x;
        const bool is_near = std::abs(row % shape.y - center.y) <= reach;
        const index_t begin = is_near ? std::max<index_t>(0, center.x - reach) : 0;
        const index_t end = is_near ? std::min(shape.x, center.x + reach + 1) : 0;
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

bool has_haze(const DeconvolutionProblem& problem) {
    return share_of_haze(problem, regions::reach) > common::noticeable;
}

std::shared_ptr<DarkLevel> DarkLevel::make(const DeconvolutionProblem& fine, int threads) {
    if (fine.options.background || !fine.traits.counts_photons) return {};
    std::shared_ptr<DarkLevel> level(new DarkLevel(fine, threads));
    level->haze_ = share_of_haze(fine, regions::edge);
    if (level->haze_ <= common::noticeable) return level;
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
    if (from == &fine) return level;
    EngineChoice engines;
    engines.device = EngineChoice::Device::cpu;
    engines.threads = threads;
    // If the PSF varies with depth, the one of the middle depth is near enough for a level.
    const std::vector<ConstImageView> psfs = coarse.psf_views();
    const auto make = [&](Operation operation) {
        return Convolver(coarse.object, psfs[psfs.size() / 2], coarse.blur(operation), engines);
    };
    level->blur_.emplace(make(Operation::convolve));
    level->back_.emplace(make(Operation::adjoint));
    coarse.release_taps();
    return level;
}

index_t DarkLevel::host_bytes() const {
    if (!can_find()) return 0;
    // Six images of the object, and four of the image with two predictions.
    const index_t arrays = 6 * bytes_of(problem_.object, PixelType::float32) +
                           6 * bytes_of(problem_.image, PixelType::float32);
    return checked_add(
        arrays, checked_add(blur_->plan().chosen.host_bytes, back_->plan().chosen.host_bytes));
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

namespace {

// Returns the binary logarithm of how many times fewer photons tell levels apart: so few that their
// noise exceeds the error of the coarse model, which would otherwise be taken for a level.
int halvings_of(const ConstImageView& coarse, double gain, double offset) {
    const auto* const values = static_cast<const float*>(coarse.data);
    double sum = 0;
    index_t compared = 0;
    for (index_t i = 0; i < element_count(coarse.shape); ++i) {
        if (!is_compared(coarse, i)) continue;
        sum += static_cast<double>(values[i]) - offset;
        ++compared;
    }
    const double photons = compared > 0 ? gain * sum / static_cast<double>(compared) : 0;
    int halvings = 1;
    while (std::ldexp(photons, -halvings) > 1 / (common::noticeable * common::noticeable))
        ++halvings;
    return halvings;
}

// Draws two samples of a pixel's photons. Both are scaled to the pixel's brightness.
PixelHalves samples_of(float value, int halvings, const PhotonScale& photons,
                       PixelRandomBits& bits) {
    const auto gain = static_cast<float>(photons.gain), offset = static_cast<float>(photons.offset);
    if (halvings == 1) return divide_pixel(value, gain, offset, bits);
    const float share = std::ldexp(1.0F, -halvings), rest = 1 - share;
    const float first = drawn_value(value, halvings, gain, offset, bits);
    const float second = drawn_value(value - first, halvings, gain, rest * offset, bits);
    return {first / share, second / (share * rest)};
}

}  // namespace

LevelRange DarkLevel::find(const Sums& sums, const PhotonScale& photons) const {
    const auto pixels = static_cast<double>(factors_.z * factors_.y * factors_.x);
    const double offset = photons.offset * pixels;
    const ConstImageView coarse = sums.coarse_.view();
    const float* const values = sums.coarse_.elements<float>();
    const auto count = static_cast<std::size_t>(element_count(coarse.shape));
    const bool has_gain = std::isfinite(photons.gain);
    const int halvings = has_gain ? halvings_of(coarse, photons.gain, offset) : 0;
    std::vector<float> first(count, richardson_lucy::not_compared), second = first;
    for (std::size_t i = 0; i < count; ++i) {
        if (!is_compared(coarse, static_cast<index_t>(i))) continue;
        PixelHalves samples{values[i], values[i]};
        if (has_gain) {
            PixelRandomBits bits(1, ThinningPurpose::background, static_cast<index_t>(i));
            samples = samples_of(values[i], halvings, {photons.gain, offset}, bits);
        }
        first[i] = std::max(samples.first - static_cast<float>(offset), 0.0F);
        second[i] = std::max(samples.second - static_cast<float>(offset), 0.0F);
    }
    LightDivision division(*blur_, *back_, std::move(first), std::move(second), threads_);
    const double mean = division.mean();
    if (!(mean > 0)) return {photons.offset, photons.offset};
    const LevelRange range = division.plausible_levels(has_gain);
    return {photons.offset + range.least / pixels, photons.offset + range.most / pixels};
}

}  // namespace convolume::deconvolve
