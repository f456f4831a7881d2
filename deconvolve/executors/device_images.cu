// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "convolume/error.hpp"
#include "convolume/missing_pixels.hpp"
#include "deconvolve/estimates/dark_level.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "deconvolve/executors/device_loops.cuh"
#include "deconvolve/executors/gpu_runner.cuh"
#include "gpu/fft/pixel.hpp"
#include "gpu/runtime/device.hpp"

namespace convolume::deconvolve {

namespace {

// Converts pixels to float32. Sums their values, and counts negative ones.
struct PixelLoader {
    const void* pixels;
    PixelType type;
    index_t first;
    float* target;
    bool clip;
    double saturation;
    float bound;  ///< mark of saturated pixels
    CONVOLUME_DEVICE SumPair operator()(index_t i) const {
        float value = gpu::load_pixel<float>(pixels, type, first + i, {}).re;
        const bool negative = value < 0;
        if (clip && negative) value = 0;
        const bool full = static_cast<double>(value) >= saturation;
        target[i] = !full ? value : value < missing_pixel ? bound : richardson_lucy::not_compared;
        return {full ? 0.0 : static_cast<double>(value), negative ? 1.0 : 0.0};
    }
};

// Counts pixels that are marked as saturated or missing.
struct MarkedPixelCount {
    const float* pixels;
    CONVOLUME_DEVICE double operator()(index_t i) const {
        return richardson_lucy::is_measured(pixels[i]) ? 0 : 1;
    }
};

// Sums the squares of pixels that are measured.
struct PixelSquares {
    const float* pixels;
    CONVOLUME_DEVICE double operator()(index_t i) const {
        const auto value = static_cast<double>(pixels[i]);
        return richardson_lucy::is_measured(pixels[i]) ? value * value : 0;
    }
};

// Stores part of each float32 row as pixels. Counts values that were clamped from below and from
// above.
struct PixelStorer {
    const float* rows;
    /// Length of a float32 row, and the part of the row that is stored as pixels.
    index_t row_length, begin, count;
    void* pixels;
    PixelType type;
    index_t first;
    CONVOLUME_DEVICE SumPair operator()(index_t i) const {
        const index_t y = i / count;
        const float value = rows[y * row_length + begin + (i - y * count)];
        gpu::ClampTally tally{};
        gpu::store_pixel<float>(pixels, type, first + i, {value, 0}, tally);
        return {static_cast<double>(tally.low), static_cast<double>(tally.high)};
    }
};

class DeviceImages final : public CallerImages {
  public:
    DeviceImages(const DevicePixels& pixels, const Shape3& shape)
        : pixels_(pixels), shape_(shape) {}

    LoadedImage load(Executor& steps, const DeconvolutionProblem& problem,
                     const TimelineRow& row) override {
        const PhaseTimer timer = row.time_work();
        const bool clip = problem.traits.counts_photons;
        const std::optional<double>& saturation = problem.options.saturation;
        const gpu::DeviceScope scope(pixels_.device);
        gpu::check(cudaStreamSynchronize(pixels_.stream), "working on the GPU");
        const DeviceLoops functors(pixels_.device, steps.threads());
        const index_t plane = shape_.y * shape_.x;
        const gpu::DeviceMemory values(pixels_.device, plane * index_t{sizeof(float)});
        constexpr double unlimited = std::numeric_limits<double>::infinity();
        SumPair sums;
        double saturated = 0, squares = 0;
        for (index_t z = 0; z < shape_.z; ++z) {
            sums += functors.sum(
                plane,
                PixelLoader{pixels_.image, pixels_.image_type, z * plane, values.as<float>(), clip,
                            saturation.value_or(unlimited),
                            saturation ? mark_of(static_cast<float>(*saturation), problem) : 0});
            if (saturation) saturated += functors.sum(plane, MarkedPixelCount{values.as<float>()});
            if (problem.chooses_tv_weight())
                squares += functors.sum(plane, PixelSquares{values.as<float>()});
            steps.write_image(values.as<float>(), z * plane, plane);
        }
        if (!std::isfinite(sums.first))
            throw BadData("the image holds a value that is not finite: repair it first");
        LoadedImage loaded;
        loaded.saturated_pixels = static_cast<index_t>(saturated);
        const index_t compared = element_count(shape_) - loaded.saturated_pixels;
        loaded.mean = mean_of(sums.first, compared);
        loaded.negative_pixels = clip ? static_cast<index_t>(sums.second) : 0;
        const auto find_bright_level = [&] {
            if (problem.chooses_tv_weight())
                loaded.bright_level =
                    bright_level_of(sums.first, squares, compared, loaded.background);
        };
        if (problem.options.background && !problem.estimates_photons()) {
            set_levels({*problem.options.background}, {}, problem, {}, loaded);
            find_bright_level();
            return loaded;
        }
        const Volume image = on_host();
        std::optional<NoiseFit> noise;
        if (problem.estimates_photons())
            noise = estimate_photon_scale(std::as_const(image).view(), steps.threads(), saturation);
        FindHazeBackground find_under_haze;
        if (problem.dark_level && problem.dark_level->can_find())
            find_under_haze = [&](const PhotonScale& photons) {
                DarkLevel::Sums coarse(*problem.dark_level);
                coarse.add(std::as_const(image).view(), saturation);
                return problem.dark_level->find(coarse, photons);
            };
        set_levels(
            find_background(std::as_const(image).view(), problem.options.background, saturation),
            noise, problem, find_under_haze, loaded);
        find_bright_level();
        return loaded;
    }

    ExecutionReport store(const Executor& steps, const DeconvolutionProblem& problem,
                          const TimelineRow& row) override {
        const PhaseTimer timer = row.time_work();
        const gpu::DeviceScope scope(pixels_.device);
        const DeviceLoops functors(pixels_.device, steps.threads());
        const Shape3& object = problem.object;
        const Index3& at = problem.image_at;
        const gpu::DeviceMemory rows(pixels_.device, shape_.y * object.x * index_t{sizeof(float)});
        SumPair clamped;
        for (index_t z = 0; z < shape_.z; ++z) {
            steps.read_estimate(rows.as<float>(), ((z + at.z) * object.y + at.y) * object.x,
                                shape_.y * object.x);
            clamped +=
                functors.sum(shape_.y * shape_.x,
                             PixelStorer{rows.as<float>(), object.x, at.x, shape_.x, pixels_.result,
                                         pixels_.result_type, z * shape_.y * shape_.x});
        }
        ExecutionReport report;
        report.clamped_low = static_cast<index_t>(clamped.first);
        report.clamped_high = static_cast<index_t>(clamped.second);
        return report;
    }

  private:
    Volume on_host() const {
        Volume image(shape_, pixels_.image_type);
        gpu::check(cudaMemcpy(image.view().data, pixels_.image,
                              static_cast<std::size_t>(image.bytes()), cudaMemcpyDeviceToHost),
                   "copying the image to the host");
        return image;
    }

    DevicePixels pixels_;
    Shape3 shape_;
};

}  // namespace

std::unique_ptr<CallerImages> make_device_images(const DevicePixels& pixels, const Shape3& shape) {
    return std::make_unique<DeviceImages>(pixels, shape);
}

}  // namespace convolume::deconvolve
