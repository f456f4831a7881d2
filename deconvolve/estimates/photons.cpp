// SPDX-License-Identifier: Apache-2.0

#include "deconvolve/estimates/photons.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "convolume/missing_pixels.hpp"
#include "core/order_statistics.hpp"
#include "core/threads.hpp"
#include "deconvolve/estimates/constants.hpp"

namespace convolume::deconvolve {

namespace {

// Median of the squares of normal deviates of variance 1.
constexpr double median_square = 0.4549364;
// Variance of the median m of N such squares, relative to m², times N: 1 / (4 f² m²) for their
// density f at m.
constexpr double variance_of_median = 5.44;

// A pixel near the sampled one: its distance in C order from the neighbor of least indices, and its
// factors in the second differences along all axes.
struct Neighbor {
    index_t offset = 0;
    double factor = 1, wide_factor = 1;
};

// Returns the neighbors of pixels of plane `z`, which is at index z of the window modulo its
// planes.
std::vector<Neighbor> neighbors_of(const std::array<bool, 3>& differs, const Index3& reach,
                                   const Shape3& window, index_t z) {
    const auto factor_at = [&](std::size_t axis, index_t far, index_t distance) {
        if (far == 0) return differs[axis] ? -2.0 : 1.0;
        return differs[axis] && far == distance ? 1.0 : 0.0;
    };
    const Shape3 extents{2 * reach.z + 1, 2 * reach.y + 1, 2 * reach.x + 1};
    std::vector<Neighbor> neighbors;
    for (index_t i = 0; i < element_count(extents); ++i) {
        const Index3 at{i / (extents.y * extents.x), i / extents.x % extents.y, i % extents.x};
        Neighbor neighbor{((z - reach.z + at.z) % window.z * window.y + at.y) * window.x + at.x};
        for (std::size_t a = 0; a < 3; ++a) {
            const int axis = static_cast<int>(a);
            const index_t far = std::abs(at[axis] - reach[axis]);
            neighbor.factor *= factor_at(a, far, 1);
            neighbor.wide_factor *= factor_at(a, far, reach[axis]);
        }
        neighbors.push_back(neighbor);
    }
    return neighbors;
}

// Returns the mean around a pixel, and the square of the second differences along all axes, scaled
// to have the variance of one pixel.
template <class T>
NoiseSample sample_around(const T* first, const std::vector<Neighbor>& neighbors,
                          double saturation) {
    bool is_complete = true;
    double sum = 0, difference = 0, wide_difference = 0, norm = 0;
    index_t saturated = 0;
    for (const auto& [offset, factor, wide_factor] : neighbors) {
        const auto here = static_cast<double>(first[offset]);
        saturated += here >= saturation;
        is_complete = is_complete && here < static_cast<double>(missing_pixel);
        sum += here;
        difference += factor * here;
        wide_difference += wide_factor * here;
        norm += factor * factor;
    }
    const auto count = static_cast<index_t>(neighbors.size());
    return {sum / static_cast<double>(count), difference * difference / norm,
            wide_difference * wide_difference / norm,
            is_complete &&
                static_cast<double>(saturated) < common::noticeable * static_cast<double>(count)};
}

struct BrightnessLevel {
    double mean = 0;
    double variance = 0;
    double pixels = 0;
};

std::vector<BrightnessLevel> levels_of(const std::vector<NoiseSample>& samples) {
    const auto [low, high] = std::minmax_element(
        samples.begin(), samples.end(),
        [](const NoiseSample& a, const NoiseSample& b) { return a.mean < b.mean; });
    const double least = low->mean;
    const double width = (high->mean - least) / static_cast<double>(noise::levels);
    std::vector<BrightnessLevel> result;
    if (!(width > 0)) return result;
    std::array<std::vector<double>, noise::levels> squares;
    std::array<double, noise::levels> sums{};
    for (const NoiseSample& sample : samples) {
        const auto level =
            std::min(noise::levels - 1, static_cast<std::size_t>((sample.mean - least) / width));
        squares[level].push_back(sample.square);
        sums[level] += sample.mean;
    }
    // A tenth of a level's pixels may be those of structures.
    for (std::size_t k = 0; k < noise::levels; ++k) {
        std::vector<double>& of_level = squares[k];
        if (static_cast<double>(of_level.size()) < common::few / common::noticeable) continue;
        const auto pixels = static_cast<double>(of_level.size());
        result.push_back({sums[k] / pixels, upper_median(of_level) / median_square, pixels});
    }
    return result;
}

// Sums of a line's weighted least squares.
struct LineSums {
    double w = 0, wm = 0, wv = 0, wmm = 0, wmv = 0;
    void add(double weight, const BrightnessLevel& level) {
        w += weight;
        wm += weight * level.mean;
        wv += weight * level.variance;
        wmm += weight * level.mean * level.mean;
        wmv += weight * level.mean * level.variance;
    }
    double determinant() const { return w * wmm - wm * wm; }
};

struct Line {
    double slope = 0, constant = 0;
    double at(const BrightnessLevel& level) const {
        return std::max(slope * level.mean + constant, 1e-3 * level.variance);
    }
};

// Finds the standard error of the line's zero, from the levels' distances to the line.
NoiseFit with_error(const Line& line, const LineSums& sums,
                    const std::vector<BrightnessLevel>& of_noise) {
    double chi_square = 0, missed = 0, pixels = 0, all = 0, sum = 0;
    for (const BrightnessLevel& level : of_noise) {
        const double away = level.variance / line.at(level) - 1;
        chi_square += level.pixels * away * away;
        missed += std::min(level.pixels, 1e4) * away * away;
        pixels += std::min(level.pixels, 1e4);
        all += level.pixels;
        sum += level.pixels * level.mean;
    }
    const double free = std::max<double>(1, static_cast<double>(of_noise.size()) - 2);
    const double scale = std::max(variance_of_median, chi_square / free) / sums.determinant();
    NoiseFit fit{{1 / line.slope, -line.constant / line.slope}};
    const double o = fit.offset;
    const double variance = scale * (sums.wmm - 2 * o * sums.wm + o * o * sums.w);
    fit.offset_error = std::sqrt(std::max(variance, 0.0)) / line.slope;
    fit.has_offset = of_noise.size() > 4 && fit.offset > 3 * fit.offset_error &&
                     fit.offset > noise::least_share_of_offset * sum / all &&
                     line.slope > 3 * std::sqrt(scale * sums.w) &&
                     std::sqrt(missed / pixels) < noise::most_missed;
    return fit;
}

// Fits by least squares, with weights from the variance of a variance, the line
//     variance = slope * mean + constant
std::optional<NoiseFit> fit(const std::vector<BrightnessLevel>& of_noise) {
    if (of_noise.size() < 2) return {};
    Line line;
    LineSums sums;
    for (int round = 0; round < 4; ++round) {
        sums = {};
        for (const BrightnessLevel& level : of_noise) {
            const double expected = round == 0 ? level.variance : line.at(level);
            if (!(expected > 0)) return {};
            sums.add(level.pixels / (expected * expected), level);
        }
        line.slope = (sums.w * sums.wmv - sums.wm * sums.wv) / sums.determinant();
        line.constant = (sums.wv - line.slope * sums.wm) / sums.w;
        if (!std::isfinite(line.slope) || !(line.slope > 0)) return {};
    }
    return with_error(line, sums, of_noise);
}

}  // namespace

PhotonScaleEstimate::PhotonScaleEstimate(const Shape3& image, PixelType type,
                                         std::optional<double> saturation)
    : saturation_(saturation.value_or(std::numeric_limits<double>::infinity())) {
    for (int a = 0; a < 3; ++a) {
        differs_[static_cast<std::size_t>(a)] = image[a] >= 3;
        reach_[a] = std::min<index_t>(2, (image[a] - 1) / 2);
        inside_[a] = image[a] - 2 * reach_[a];
    }
    const index_t count = element_count(inside_);
    stride_ = ceil_div(count, noise::enough_pixels);
    samples_.resize(static_cast<std::size_t>(ceil_div(count, stride_)));
    window_ = Volume({2 * reach_.z + 1, image.y, image.x}, type);
}

void PhotonScaleEstimate::add(const ConstImageView& planes, index_t z, int threads) {
    const Shape3 window = window_.shape();
    const auto plane = [&](const auto& view, index_t at) {
        return subview(view, {{at, 0, 0}, {at + 1, window.y, window.x}});
    };
    for (index_t k = 0; k < planes.shape.z; ++k) {
        convert_pixels(plane(planes, k), plane(window_.view(), (z + k) % window.z), threads);
        if (z + k + 1 >= window.z) sample_plane(z + k - reach_.z, threads);
    }
}

void PhotonScaleEstimate::sample_plane(index_t z, int threads) {
    const ConstImageView window = std::as_const(window_).view();
    const index_t plane = inside_.y * inside_.x;
    const index_t first = ceil_div((z - reach_.z) * plane, stride_);
    const index_t end = ceil_div((z - reach_.z + 1) * plane, stride_);
    const std::vector<Neighbor> neighbors = neighbors_of(differs_, reach_, window.shape, z);
    visit_pixel_type(window.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_arithmetic_v<T>) {
            parallel_for(end - first, threads, [&](index_t k, int) {
                const index_t i = (first + k) * stride_;
                const index_t at = i / inside_.x % inside_.y * window.shape.x + i % inside_.x;
                samples_[static_cast<std::size_t>(first + k)] =
                    sample_around(static_cast<const T*>(window.data) + at, neighbors, saturation_);
            });
        }
    });
}

std::optional<NoiseFit> PhotonScaleEstimate::find() const {
    const std::vector<NoiseSample> samples = complete();
    if (samples.empty()) return {};
    std::optional<NoiseFit> found = fit(levels_of(samples));
    if (found) found->is_filtered = share_of_white_noise() < noise::least_white_share;
    return found;
}

std::vector<NoiseSample> PhotonScaleEstimate::complete() const {
    std::vector<NoiseSample> complete;
    std::copy_if(samples_.begin(), samples_.end(), std::back_inserter(complete),
                 [](const NoiseSample& sample) { return sample.is_complete; });
    return complete;
}

double PhotonScaleEstimate::share_of_white_noise() const {
    std::vector<NoiseSample> samples = complete();
    // With fewer samples, three standard errors of a ratio of medians would make white noise look
    // filtered.
    const double errors = 3 / (1 - noise::least_white_share);
    const auto enough = static_cast<std::size_t>(2 * variance_of_median * errors * errors);
    if (samples.size() <= enough) return 1;
    // The power of structures grows with the square of the light, that of noise with the light.
    const std::size_t darkest = std::max(enough, samples.size() / 10);
    const auto end = samples.begin() + static_cast<std::ptrdiff_t>(darkest);
    std::nth_element(samples.begin(), end, samples.end(),
                     [](const NoiseSample& a, const NoiseSample& b) { return a.mean < b.mean; });
    const auto median = [&](double NoiseSample::*square) {
        std::vector<double> squares;
        for (auto sample = samples.begin(); sample != end; ++sample)
            squares.push_back((*sample).*square);
        return upper_median(squares);
    };
    const double wide = median(&NoiseSample::wide_square);
    return wide > 0 ? median(&NoiseSample::square) / wide : 1;
}

std::optional<NoiseFit> estimate_photon_scale(const ConstImageView& image, int threads,
                                              std::optional<double> saturation) {
    PhotonScaleEstimate estimate(image.shape, image.type, saturation);
    estimate.add(image, 0, threads);
    return estimate.find();
}

}  // namespace convolume::deconvolve
