// SPDX-License-Identifier: Apache-2.0

#include "deconvolve/photons.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/threads.hpp"

namespace convolume::deconvolve {

namespace {

constexpr index_t enough_pixels = 1 << 19;
constexpr std::size_t levels = 64;
constexpr std::size_t least_of_level = 100;
// Median of the squares of normal deviates of variance 1.
constexpr double median_square = 0.4549364;

struct NoiseSample {
    double mean = 0;
    double square = 0;  ///< square of the second difference, whose expectation is the variance
};

// Returns the mean around a pixel, and the square of the second differences along all axes, scaled
// to have the variance of one pixel.
template <class Value>
NoiseSample sample_around(const Index3& at, const std::array<bool, 3>& differs, const Index3& reach,
                          const Value& value) {
    double sum = 0;
    double difference = 0;
    double norm = 1;
    index_t count = 0;
    for (const bool axis : differs) norm *= axis ? 6 : 1;  // sum of squared factors: 1² + 2² + 1²
    for (index_t k = -reach.z; k <= reach.z; ++k)
        for (index_t j = -reach.y; j <= reach.y; ++j)
            for (index_t i = -reach.x; i <= reach.x; ++i) {
                const double here = value(at.z + k, at.y + j, at.x + i);
                sum += here;
                ++count;
                double factor = 1;
                const index_t step[3] = {k, j, i};
                for (std::size_t a = 0; a < 3; ++a) {
                    const index_t far = std::abs(step[a]);
                    if (differs[a])
                        factor *= far == 0 ? -2 : far == 1 ? 1 : 0;
                    else
                        factor *= far == 0 ? 1 : 0;
                }
                difference += factor * here;
            }
    return {sum / static_cast<double>(count), difference * difference / norm};
}

struct BrightnessLevel {
    double mean = 0;
    double variance = 0;
    double pixels = 0;
};

std::vector<BrightnessLevel> levels_of(std::vector<NoiseSample>& samples) {
    const auto [low, high] = std::minmax_element(
        samples.begin(), samples.end(),
        [](const NoiseSample& a, const NoiseSample& b) { return a.mean < b.mean; });
    const double least = low->mean;
    const double width = (high->mean - least) / static_cast<double>(levels);
    std::vector<BrightnessLevel> result;
    if (!(width > 0)) return result;
    std::array<std::vector<double>, levels> squares;
    std::array<double, levels> sums{};
    for (const NoiseSample& sample : samples) {
        const auto level =
            std::min(levels - 1, static_cast<std::size_t>((sample.mean - least) / width));
        squares[level].push_back(sample.square);
        sums[level] += sample.mean;
    }
    for (std::size_t k = 0; k < levels; ++k) {
        std::vector<double>& of_level = squares[k];
        if (of_level.size() < least_of_level) continue;
        const auto middle = of_level.begin() + static_cast<std::ptrdiff_t>(of_level.size() / 2);
        std::nth_element(of_level.begin(), middle, of_level.end());
        const auto pixels = static_cast<double>(of_level.size());
        result.push_back({sums[k] / pixels, *middle / median_square, pixels});
    }
    return result;
}

// Fits by least squares, with weights from the variance of a variance, the line
//     variance = slope * mean + constant
std::optional<PhotonScale> fit(const std::vector<BrightnessLevel>& of_noise) {
    if (of_noise.size() < 2) return {};
    double slope = 0;
    double constant = 0;
    for (int round = 0; round < 4; ++round) {
        double w = 0, wm = 0, wv = 0, wmm = 0, wmv = 0;
        for (const BrightnessLevel& level : of_noise) {
            const double expected =
                round == 0 ? level.variance
                           : std::max(slope * level.mean + constant, 1e-3 * level.variance);
            if (!(expected > 0)) return {};
            const double weight = level.pixels / (expected * expected);
            w += weight;
            wm += weight * level.mean;
            wv += weight * level.variance;
            wmm += weight * level.mean * level.mean;
            wmv += weight * level.mean * level.variance;
        }
        slope = (w * wmv - wm * wv) / (w * wmm - wm * wm);
        constant = (wv - slope * wm) / w;
        if (!std::isfinite(slope) || !(slope > 0)) return {};
    }
    return PhotonScale{1 / slope, -constant / slope};
}

}  // namespace

std::optional<PhotonScale> estimate_photon_scale(const ConstImageView& image, int threads) {
    std::array<bool, 3> differs{};
    Index3 reach;
    Shape3 inside;
    for (int a = 0; a < 3; ++a) {
        differs[static_cast<std::size_t>(a)] = image.shape[a] >= 3;
        reach[a] = std::min<index_t>(2, (image.shape[a] - 1) / 2);
        inside[a] = image.shape[a] - 2 * reach[a];
    }
    const index_t count = element_count(inside);
    const index_t stride = ceil_div(count, enough_pixels);
    std::vector<NoiseSample> samples(static_cast<std::size_t>(ceil_div(count, stride)));
    visit_pixel_type(image.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_arithmetic_v<T>) {
            const auto value = [&](index_t z, index_t y, index_t x) {
                return static_cast<double>(*static_cast<const T*>(image.at(z, y, x)));
            };
            parallel_for(static_cast<index_t>(samples.size()), threads, [&](index_t k, int) {
                const index_t i = k * stride;
                const index_t row = i / inside.x;
                const Index3 at{row / inside.y + reach.z, row % inside.y + reach.y,
                                i % inside.x + reach.x};
                samples[static_cast<std::size_t>(k)] = sample_around(at, differs, reach, value);
            });
        }
    });
    return fit(levels_of(samples));
}

}  // namespace convolume::deconvolve
