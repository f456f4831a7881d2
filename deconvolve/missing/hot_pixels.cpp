// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/missing/hot_pixels.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "convolume/volume.hpp"

namespace convolume::deconvolve {

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

// Pixels are grouped by the brightness of their neighbors: four groups an octave.
constexpr int groups_per_octave = 4, octaves = 16;
constexpr std::size_t groups = groups_per_octave * octaves;

std::size_t group_of(double brightness, double most) {
    if (!(brightness > 0)) return 0;
    const double at = groups_per_octave * (octaves + std::log2(brightness / most));
    return static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(groups - 1)));
}

}  // namespace

Neighborhoods neighborhoods_of(const Plane& plane, const std::vector<bool>& left_out) {
    Neighborhoods pixels;
    pixels.resize(static_cast<std::size_t>(plane.count()));
    const auto is_used = [&](index_t y, index_t x) {
        return left_out.empty() || !left_out[static_cast<std::size_t>(y * plane.width + x)];
    };
    for (index_t y = 0; y < plane.height; ++y)
        for (index_t x = 0; x < plane.width; ++x) {
            const auto i = static_cast<std::size_t>(y * plane.width + x);
            pixels.values[i] = plane.at(y, x);
            float sum = 0, most = -std::numeric_limits<float>::infinity();
            int count = 0;
            for (index_t j = std::max<index_t>(0, y - 1); j <= std::min(plane.height - 1, y + 1);
                 ++j)
                for (index_t k = std::max<index_t>(0, x - 1); k <= std::min(plane.width - 1, x + 1);
                     ++k) {
                    if ((j == y && k == x) || !is_used(j, k)) continue;
                    sum += plane.at(j, k);
                    most = std::max(most, plane.at(j, k));
                    ++count;
                }
            const bool is_compared = count > 1 && is_used(y, x);
            pixels.means[i] = is_compared ? sum / static_cast<float>(count) : not_a_number;
            pixels.means_without_brightest[i] =
                is_compared ? (sum - most) / static_cast<float>(count - 1) : not_a_number;
        }
    return pixels;
}

namespace {

// Noise allowed at each brightness of the neighbors.
class AllowedNoise {
  public:
    // Pixels that are outliers already are not counted.
    AllowedNoise(const Neighborhoods& pixels, const std::vector<bool>& is_outlier) {
        std::vector<float> dark;
        float most = -std::numeric_limits<float>::infinity();
        for (const float mean : pixels.means_without_brightest) {
            if (std::isnan(mean)) continue;
            dark.push_back(mean);
            most = std::max(most, mean);
        }
        if (dark.size() < enough) return;
        const auto low = dark.begin() + static_cast<std::ptrdiff_t>(dark.size() / 100);
        std::nth_element(dark.begin(), low, dark.end());
        background_ = static_cast<double>(*low);
        brightest_ = static_cast<double>(most) - background_;
        if (!(brightest_ > 0)) return;
        std::array<std::vector<float>, groups> deviations;
        for (std::size_t i = 0; i < pixels.values.size(); ++i) {
            const float around = pixels.means_without_brightest[i];
            if (std::isnan(around) || is_outlier[i]) continue;
            deviations[group_at(around)].push_back(std::abs(pixels.values[i] - around));
        }
        set_allowed(deviations);
    }

    bool is_known() const { return brightest_ > 0; }
    double background() const { return background_; }
    double at(float around) const { return allowed_[group_at(around)]; }

  private:
    // Deviations as rare as one in a hundred are seen, although fewer pixels are outliers. Noise
    // whose tails fall off exponentially, slower than those of Poisson's and normal distributions,
    // exceeds 5 times as much once in 10^10 pixels.
    static constexpr double seen_share = 1e-2, factor = 5;
    static constexpr std::size_t enough = 1000;

    std::size_t group_at(float around) const {
        return group_of(static_cast<double>(around) - background_, brightest_);
    }

    // Groups of few pixels are joined from the brightest on, so that the little noise of dark
    // pixels is not allowed for bright ones.
    void set_allowed(const std::array<std::vector<float>, groups>& deviations) {
        double allowed = std::numeric_limits<double>::infinity();
        std::vector<float> joined;
        std::size_t end = groups;
        for (std::size_t g = groups; g-- > 0;) {
            joined.insert(joined.end(), deviations[g].begin(), deviations[g].end());
            if (joined.size() < enough && g > 0) continue;
            if (joined.size() >= enough) {
                const auto at =
                    static_cast<std::ptrdiff_t>(seen_share * static_cast<double>(joined.size()));
                std::nth_element(joined.begin(), joined.begin() + at, joined.end(),
                                 std::greater<>());
                allowed = factor * static_cast<double>(joined[static_cast<std::size_t>(at)]);
                // Pixels without any deviation say nothing of their noise.
                if (!(allowed > 0)) allowed = std::numeric_limits<double>::infinity();
            }
            std::fill(allowed_.begin() + static_cast<std::ptrdiff_t>(g),
                      allowed_.begin() + static_cast<std::ptrdiff_t>(end), allowed);
            end = g;
            joined.clear();
        }
    }

    double background_ = 0, brightest_ = 0;
    std::array<double, groups> allowed_{};
};

}  // namespace

std::vector<index_t> outliers_of(const Neighborhoods& pixels, const PsfSharpness& sharpness,
                                 Outliers kind) {
    std::vector<index_t> found;
    std::vector<bool> is_outlier(pixels.values.size());
    // Outliers make the noise look larger, until they are known.
    constexpr int most_rounds = 4;
    for (int round = 0; round < most_rounds; ++round) {
        const AllowedNoise noise(pixels, is_outlier);
        const std::size_t before = found.size();
        for (std::size_t i = 0; noise.is_known() && i < pixels.values.size(); ++i) {
            const float around = pixels.means_without_brightest[i];
            if (std::isnan(around) || is_outlier[i]) continue;
            const auto above = [&](float value) {
                return static_cast<double>(value) - noise.background();
            };
            const double light = above(pixels.values[i]), allowed = noise.at(around);
            const double away = kind == Outliers::bright
                                    ? light - sharpness.most * std::max(0.0, above(around))
                                    : sharpness.least * above(around) - light;
            if (away <= allowed) continue;
            is_outlier[i] = true;
            found.push_back(static_cast<index_t>(i));
        }
        if (found.size() == before) break;
    }
    return found;
}

void CameraPixels::add(const Plane& plane, const std::vector<index_t>& hot,
                       const std::vector<bool>& left_out) {
    std::vector<bool> is_hot(pixels_.size());
    for (const index_t i : hot) is_hot[static_cast<std::size_t>(i)] = true;
    for (std::size_t i = 0; i < pixels_.size(); ++i) {
        if (!left_out.empty() && left_out[i]) continue;
        Sums& sums = pixels_[i];
        ++(is_hot[i] ? sums.hot_planes : sums.planes);
        if (!is_hot[i]) sums.values += static_cast<double>(plane.pixels[i]);
    }
}

std::vector<index_t> CameraPixels::find() const {
    constexpr index_t fewest_planes = 5;
    std::vector<float> means(pixels_.size());
    std::vector<bool> left_out(pixels_.size());
    std::vector<index_t> found;
    for (std::size_t i = 0; i < pixels_.size(); ++i) {
        const Sums& sums = pixels_[i];
        const bool is_hot = sums.hot_planes > sums.planes;
        if (is_hot && sums.hot_planes >= fewest_planes) found.push_back(static_cast<index_t>(i));
        left_out[i] = is_hot || sums.planes < fewest_planes;
        if (!left_out[i])
            means[i] = static_cast<float>(sums.values / static_cast<double>(sums.planes));
    }
    // Hot pixels would make their neighbors look dead.
    for (const Outliers kind : {Outliers::bright, Outliers::dark})
        for (const index_t i : outliers_of(
                 neighborhoods_of({means.data(), height_, width_}, left_out), sharpness_, kind)) {
            found.push_back(i);
            left_out[static_cast<std::size_t>(i)] = true;
        }
    return found;
}

}  // namespace convolume::deconvolve

namespace convolume {

PsfSharpness sharpness_of(const ConstImageView& psf) {
    // Tails of a PSF are too dim to be seen beside others.
    constexpr double least_share = 1e-2;
    const Shape3& shape = psf.shape;
    if (element_count(shape) == 0 || is_complex(psf.type)) return {};
    Volume samples(shape, PixelType::float32);
    convert_pixels(psf, samples.view(), 0);
    const float* const all = samples.elements<float>();
    const double peak = static_cast<double>(*std::max_element(all, all + element_count(shape)));
    PsfSharpness range{std::numeric_limits<double>::infinity(), 0};
    const Volume& constant = samples;
    for (index_t z = 0; z < shape.z; ++z) {
        const deconvolve::Plane plane = deconvolve::plane_of(constant.view(), z);
        const deconvolve::Neighborhoods pixels = deconvolve::neighborhoods_of(plane, {});
        for (std::size_t i = 0; i < pixels.values.size(); ++i) {
            const auto value = static_cast<double>(pixels.values[i]);
            const auto mean = static_cast<double>(pixels.means[i]);
            const auto trimmed = static_cast<double>(pixels.means_without_brightest[i]);
            if (value >= least_share * peak) range.most = std::max(range.most, value / trimmed);
            if (mean >= least_share * peak) range.least = std::min(range.least, value / mean);
        }
    }
    if (!(range.most > 0)) range.most = std::numeric_limits<double>::infinity();
    range.least = std::clamp(range.least, 0.0, 1.0);
    return range;
}

}  // namespace convolume
