// SPDX-License-Identifier: Apache-2.0
// Tests loading and storing images with executors that copy while another thread converts groups of
// planes, as GPUs do.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/volume.hpp"
#include "core/stop_scope.hpp"
#include "deconvolve/caller_images.hpp"
#include "tests/catch.hpp"

using namespace convolume;
using namespace convolume::deconvolve;

namespace {

/// Keeps the image that is written, and gives it back as the estimate. Copies take some time, so
/// that the other thread gets ahead.
struct SlowCopies : Executor {
    explicit SlowCopies(const Shape3& shape)
        : image(static_cast<std::size_t>(element_count(shape)),
                std::numeric_limits<float>::quiet_NaN()) {}

    HostMemory staging() const override { return HostMemory::page_locked; }
    int threads() const override { return 2; }
    void write_image(const float* values, index_t first, index_t count) override {
        if (++writes == fails_at) throw std::runtime_error("the device is lost");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::copy_n(values, count, image.begin() + first);
    }
    void read_estimate(float* values, index_t first, index_t count) const override {
        ++reads;
        std::copy_n(image.begin() + first, count, values);
    }
    void write_estimate(const float*, index_t, index_t) override {}
    void hold_out(const PhotonScale&, int) override {}
    void put_back() override {}
    void begin(const LoadedImage&, float) override {}
    StepResult iterate(const StepStart&, const IterationProgress&) override { return {}; }

    std::vector<float> image;
    int writes = 0, fails_at = 0;
    mutable int reads = 0;
};

/// A group holds three of these planes, and the last group one.
constexpr Shape3 many_planes{46, 500, 640};
/// These groups are too few for another thread.
constexpr Shape3 few_planes{10, 500, 640};

Volume counted(const Shape3& shape) {
    Volume image(shape, PixelType::int16);
    for (index_t i = 0; i < element_count(shape); ++i)
        image.elements<std::int16_t>()[i] = static_cast<std::int16_t>((i * 7919) % 30011 - 15000);
    return image;
}

DeconvolutionProblem problem_of_counts(const Shape3& shape) {
    Volume psf({1, 1, 1}, PixelType::float32);
    psf.elements<float>()[0] = 1;
    DeconvolveOptions options;
    options.background = 0;
    options.offset = 0;
    return resolve_problem(shape, psf.view(), options, 2);
}

void check_planes(const Shape3& shape, int writes) {
    const Volume image = counted(shape);
    Volume result(shape, PixelType::uint8);
    HostImages images(image.view(), result.view());
    SlowCopies executor(shape);
    const DeconvolutionProblem problem = problem_of_counts(shape);
    const LoadedImage loaded = images.load(executor, problem, {});
    CHECK(executor.writes == writes);
    double sum = 0;
    index_t negative = 0, wrong = 0, low = 0, high = 0;
    for (index_t i = 0; i < element_count(shape); ++i) {
        const int value = image.elements<std::int16_t>()[i];
        negative += value < 0;
        sum += std::max(value, 0);
        wrong +=
            executor.image[static_cast<std::size_t>(i)] != static_cast<float>(std::max(value, 0));
        high += value > 255;
    }
    CHECK(wrong == 0);
    CHECK(loaded.negative_pixels == negative);
    CHECK(std::abs(loaded.mean - sum / static_cast<double>(element_count(shape))) < 1e-9);

    const ExecutionReport report = images.store(executor, problem, {});
    for (index_t i = 0; i < element_count(shape); ++i)
        wrong += result.elements<std::uint8_t>()[i] !=
                 std::clamp<int>(image.elements<std::int16_t>()[i], 0, 255);
    CHECK(wrong == 0);
    CHECK(report.clamped_low == low);
    CHECK(report.clamped_high == high);
}

}  // namespace

TEST_CASE("planes are converted while others are copied, and none is lost") {
    check_planes(many_planes, 16);
    check_planes(few_planes, 4);
}

TEST_CASE("an estimate of float32 is copied at once where no samples are converted") {
    SlowCopies executor(few_planes);
    for (std::size_t i = 0; i < executor.image.size(); ++i)
        executor.image[i] = static_cast<float>(i % 10007);
    const DeconvolutionProblem problem = problem_of_counts(few_planes);
    Volume result(few_planes, PixelType::float32);
    store_estimate(executor, problem, result.view());
    CHECK(executor.reads == 1);
    CHECK(std::equal(executor.image.begin(), executor.image.end(), result.elements<float>()));
    Volume counts(few_planes, PixelType::uint16);
    store_estimate(executor, problem, counts.view());
    CHECK(executor.reads > 1);
    CHECK(counts.view().at<std::uint16_t>(0, 3, 5) == 3 * 640 + 5);
}

TEST_CASE("a failing copy, and a request to stop, end the loading of planes") {
    const Volume image = counted(many_planes);
    HostImages images(image.view(), {});
    SlowCopies failing(many_planes);
    failing.fails_at = 2;
    const DeconvolutionProblem problem = problem_of_counts(many_planes);
    CHECK_THROWS_WITH(images.load(failing, problem, {}), "the device is lost");

    std::stop_source source;
    source.request_stop();
    const StopScope scope(source.get_token());
    SlowCopies executor(many_planes);
    CHECK_THROWS_AS(images.load(executor, problem, {}), Cancelled);
    CHECK(executor.writes == 0);
}
