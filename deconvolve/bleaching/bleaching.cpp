// SPDX-License-Identifier: Apache-2.0
#include "convolume/bleaching.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "convolume/error.hpp"
#include "convolume/missing_pixels.hpp"
#include "convolume/volume.hpp"
#include "core/threads.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "deconvolve/missing/plane_bands.hpp"
#include "deconvolve/pixel_bounds.hpp"

namespace convolume {

namespace {

using deconvolve::for_each_band;

constexpr index_t band_bytes = index_t{128} << 20;

// The light of every plane of a channel: means of the pixels, less the offset.
struct LightOfExposures {
    std::vector<double> of_planes;              ///< t slowest; NaN of planes without pixels
    std::optional<deconvolve::NoiseFit> noise;  ///< that of the first volume

    LightOfExposures(ImageSource& image, index_t c, bool measures_noise, int threads) {
        const StackFormat format = image.format();
        const double nothing = std::numeric_limits<double>::quiet_NaN();
        of_planes.assign(static_cast<std::size_t>(format.frames * format.shape.z), nothing);
        std::optional<deconvolve::PhotonScaleEstimate> estimate;
        if (measures_noise)
            estimate.emplace(format.shape, PixelType::float32, static_cast<double>(missing_pixel));
        for (index_t t = 0; t < format.frames; ++t)
            for_each_band(image, t, c, band_bytes, [&](index_t first, const ImageView& planes) {
                if (t == 0 && estimate) estimate->add(planes, first, threads);
                parallel_for(planes.shape.z, threads, [&](index_t k, int) {
                    const deconvolve::Plane plane = deconvolve::plane_of(planes, k);
                    double sum = 0;
                    index_t count = 0;
                    for (index_t i = 0; i < plane.count(); ++i)
                        if (plane.pixels[i] < missing_pixel) {
                            sum += static_cast<double>(plane.pixels[i]);
                            ++count;
                        }
                    if (count > 0)
                        of_planes[static_cast<std::size_t>(t * format.shape.z + first + k)] =
                            sum / static_cast<double>(count);
                });
            });
        if (estimate) noise = estimate->find();
    }

    /// Returns the light of groups of `planes` planes each.
    std::vector<double> of_groups(index_t planes, double offset) const {
        std::vector<double> light;
        const auto step = static_cast<std::size_t>(planes);
        for (std::size_t first = 0; first < of_planes.size(); first += step) {
            double sum = 0, count = 0;
            for (std::size_t i = first; i < first + step; ++i)
                if (!std::isnan(of_planes[i])) {
                    sum += of_planes[i] - offset;
                    ++count;
                }
            light.push_back(count > 0 ? sum / count : 0);
        }
        return light;
    }
};

std::string percent(double share) {
    return message(std::round(1000 * share) / 10, " %");
}

std::string finding_of(const Decay& decay, index_t exposures, const char* from_to) {
    const double steps = static_cast<double>(exposures - 1);
    const double change = 1 - std::exp(-std::abs(decay.rate) * steps);
    const double error = decay.error * steps * (1 - change);
    return message("light ", decay.rate < 0 ? "grows" : "falls", " by ", percent(change), " ± ",
                   percent(error), from_to);
}

}  // namespace

Decay fit_decay(const std::vector<double>& light) {
    std::vector<double> at, logs;
    for (std::size_t n = 0; n < light.size(); ++n)
        if (light[n] > 0) {
            at.push_back(static_cast<double>(n));
            logs.push_back(std::log(light[n]));
        }
    constexpr std::size_t fewest = 3;  // two exposures always lie on a line
    const auto count = static_cast<double>(at.size());
    if (at.size() < fewest) return {0, std::numeric_limits<double>::infinity()};
    const double mean_at = std::accumulate(at.begin(), at.end(), 0.0) / count;
    const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / count;
    double squares = 0, products = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
        squares += (at[i] - mean_at) * (at[i] - mean_at);
        products += (at[i] - mean_at) * (logs[i] - mean);
    }
    const double slope = products / squares;
    double residuals = 0, neighbors = 0, last = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
        const double residual = logs[i] - mean - slope * (at[i] - mean_at);
        residuals += residual * residual;
        if (i > 0) neighbors += residual * last;
        last = residual;
    }
    // Correlated residuals are as good as fewer independent ones.
    const double correlation = residuals > 0 ? std::clamp(neighbors / residuals, 0.0, 0.99) : 0;
    const double inflation = (1 + correlation) / (1 - correlation);
    return {-slope, std::sqrt(residuals / (count - 2) / squares * inflation)};
}

bool keeps_light_of_planes(const ConstImageView& psf) {
    std::vector<double> light;
    Volume plane({1, psf.shape.y, psf.shape.x}, PixelType::float32);
    for (index_t z = 0; z < psf.shape.z; ++z) {
        convert_pixels(subview(psf, {{z, 0, 0}, {z + 1, psf.shape.y, psf.shape.x}}), plane.view(),
                       0);
        const float* const values = plane.elements<float>();
        light.push_back(std::accumulate(values, values + psf.shape.y * psf.shape.x, 0.0));
    }
    const double most = *std::max_element(light.begin(), light.end());
    return std::min(light.front(), light.back()) >= 0.5 * most;
}

double Bleaching::factor(index_t t, index_t z) const {
    const auto exponent = [&](index_t time, index_t plane) {
        return -per_time * static_cast<double>(time) - per_plane * static_cast<double>(plane);
    };
    const double brightest = std::max({exponent(0, 0), exponent(0, planes - 1),
                                       exponent(times - 1, 0), exponent(times - 1, planes - 1)});
    return std::exp(exponent(t, z) - brightest);
}

Bleaching find_bleaching(ImageSource& image, index_t c, bool along_z, std::optional<double> offset,
                         int threads) {
    const StackFormat format = image.format();
    const LightOfExposures light(image, c, !offset.has_value(), thread_count(threads));
    if (!offset) {
        if (!light.noise || light.noise->is_filtered)
            throw BadData(sentence(
                "the noise of the image does not tell the camera's offset, from which bleaching is "
                "measured: give ",
                OptionName{"offset"}));
        offset = light.noise->has_offset ? light.noise->offset : 0;
    }
    Bleaching found;
    found.planes = format.shape.z;
    found.times = format.frames;
    found.offset = *offset;
    const bool by_planes = along_z && format.shape.z > 1;
    if (!by_planes && format.frames == 1) {
        found.finding = format.shape.z == 1
                            ? "one plane at one time tells no bleaching"
                            : "the PSF does not keep the light of planes, as a widefield one does "
                              "that is wide enough: their light tells no bleaching";
        return found;
    }
    const std::vector<double> exposures = light.of_groups(by_planes ? 1 : format.shape.z, *offset);
    const Decay decay = fit_decay(exposures);
    const char* const from_to =
        by_planes ? " from the first plane to the last" : " from the first time to the last";
    if (std::isinf(decay.error)) {
        found.finding = "fewer than three exposures have light: these tell no bleaching";
        return found;
    }
    found.finding = finding_of(decay, static_cast<index_t>(exposures.size()), from_to);
    if (!decay.is_found()) {
        found.finding += ", which chance explains: nothing is scaled";
        return found;
    }
    found.per_plane = by_planes ? decay.rate : 0;
    found.per_time = by_planes ? decay.rate * static_cast<double>(format.shape.z) : decay.rate;
    return found;
}

StackFormat UnbleachedVolume::format() const {
    StackFormat format = source_.format();
    format.type = PixelType::float32;
    return format;
}

double UnbleachedVolume::saturation_of_bounds() {
    return *deconvolve::encoded_bounds().level;
}

void UnbleachedVolume::read_box(index_t t, index_t c, const Box3& box, const ImageView& target) {
    deconvolve::read_as_float32(source_, t, c, box, target);
    const deconvolve::PixelBounds bounds{saturation_};
    const auto offset = static_cast<float>(bleaching_.offset);
    for (index_t z = 0; z < box.shape().z; ++z) {
        const auto scale = static_cast<float>(1 / bleaching_.factor(t_, box.begin.z + z));
        for (index_t y = 0; y < box.shape().y; ++y)
            for (index_t x = 0; x < box.shape().x; ++x) {
                auto& pixel = target.at<float>(z, y, x);
                if (pixel >= missing_pixel) continue;
                const bool is_bound = bounds.apply_to(pixel);
                pixel = offset + scale * (pixel - offset);
                if (is_bound) pixel = deconvolve::encoded_bound(pixel);
            }
    }
}

}  // namespace convolume
