// SPDX-License-Identifier: Apache-2.0
// Tests deconvolution in a GPU's memory: the promises of tests/deconvolve/cases.hpp, and the
// results of the CPU.

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "gpu/fft/pass_times.hpp"
#include "gpu/fft/passes.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/volumes/device_rates.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/cases.hpp"
#include "tests/gpu/device.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

EngineChoice gpu_only() {
    EngineChoice choice;
    choice.device = EngineChoice::Device::gpu;
    choice.gpus = {0};
    return choice;
}

}  // namespace

TEST_CASE("device deconvolve: iterations follow the definition of Richardson and Lucy", "[gpu]") {
    NEEDS_GPU();
    check_iterations(gpu_only());
    check_saturated(gpu_only());
    check_pixel_weights(gpu_only());
}

TEST_CASE("device deconvolve: wiener solves its linear system", "[gpu]") {
    NEEDS_GPU();
    check_wiener(gpu_only());
    check_least_squares(gpu_only());
}

TEST_CASE("device deconvolve: photons are preserved, likelihood rises", "[gpu]") {
    NEEDS_GPU();
    check_flux(gpu_only());
    check_likelihood(gpu_only());
    check_unobserved(gpu_only());
    check_heavy_ball(gpu_only());
    check_held_out(gpu_only());
}

TEST_CASE("device deconvolve: beads become sharper and keep their positions", "[gpu]") {
    NEEDS_GPU();
    check_beads(gpu_only());
}

TEST_CASE("device deconvolve: results agree with the CPU, whether arrays fit a GPU or not",
          "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("GPU and CPU deconvolve"));
    const Index3 center{4, 4, 4};
    const Array psf = gaussian_psf({9, 9, 9}, center, {2, 1.5, 1.5});
    const Specimen specimen = bead_specimen(random, {28, 40, 44}, psf, center, 6, 20000, 5);
    const Volume taps = to_volume(psf, PixelType::float64);
    DeconvolveOptions options;
    options.background = 5;
    options.iterations = 10;
    for (const auto method :
         {DeconvolveMethod::richardson_lucy, DeconvolveMethod::richardson_lucy_tv,
          DeconvolveMethod::wiener, DeconvolveMethod::scaled_heavy_ball,
          DeconvolveMethod::wiener_butterworth, DeconvolveMethod::gradient_consensus,
          DeconvolveMethod::non_negative_least_squares, DeconvolveMethod::maximum_a_posteriori}) {
        options.method = method;
        options.roughness.reset();
        if (uses_option(method, "roughness")) options.roughness = 1e-3;
        const Deconvolved on_cpu = deconvolved(specimen.recorded, psf, options);
        const Deconvolver resident(specimen.recorded.shape, taps.view(), options, gpu_only());
        CHECK(resident.plan().on_device);
        CHECK(resident.plan().device_bytes > resident.plan().array_bytes);
        const Deconvolved on_gpu = deconvolved(specimen.recorded, psf, options, gpu_only());
        // Ten iterations amplify the rounding errors of two FFTs.
        const Comparison comparison = compare(on_cpu.result, on_gpu.result);
        INFO(to_string(method) << ": " << comparison.report);
        CHECK(comparison.error < 1e-3);
        CHECK(on_gpu.result.values ==
              deconvolved(specimen.recorded, psf, options, gpu_only()).result.values);

        // A GPU with less memory than the arrays need.
        EngineChoice small = gpu_only();
        small.max_gpu_bytes = resident.plan().array_bytes / 2;
        try {
            const Deconvolver streaming(specimen.recorded.shape, taps.view(), options, small);
            CHECK(!streaming.plan().on_device);
            CHECK(contains(streaming.plan().why_not_on_device, "GPU"));
        } catch (const OutOfMemory& error) {
            WARN("SKIPPED: the streaming half: " << error.what());
            continue;
        }
        const Comparison streamed =
            compare(on_cpu.result, deconvolved(specimen.recorded, psf, options, small).result);
        INFO("streamed: " << streamed.report);
        CHECK(streamed.error < 1e-3);
    }
}

TEST_CASE("device deconvolve: iterations by passes agree with the CPU", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("passes and CPU deconvolve"));
    struct Case {
        Shape3 image, psf;
        Index3 center;
    };
    // Odd extents, PSFs that reach over every plane or within one plane, PSFs as large as the
    // image, and images of a single plane.
    const std::vector<Case> cases = {{{28, 40, 44}, {9, 9, 9}, {4, 4, 4}},
                                     {{13, 37, 29}, {11, 8, 6}, {3, 4, 1}},
                                     {{5, 31, 64}, {5, 31, 15}, {2, 15, 7}},
                                     {{1, 65, 131}, {1, 9, 12}, {0, 4, 6}},
                                     {{40, 12, 600}, {3, 5, 7}, {1, 2, 3}}};
    for (const Case& volume_case : cases) {
        const Array psf = gaussian_psf(volume_case.psf, volume_case.center, {1.5, 1.5, 1.5});
        const Specimen specimen =
            bead_specimen(random, volume_case.image, psf, volume_case.center, 4, 20000, 5, 0.5);
        DeconvolveOptions options;
        options.background = 5;
        options.iterations = 8;
        options.coarse_start = 0;
        options.center = {KernelCenter::Kind::explicit_, volume_case.center};
        for (const auto method :
             {DeconvolveMethod::richardson_lucy, DeconvolveMethod::scaled_heavy_ball})
            for (const auto acceleration : {Acceleration::none, Acceleration::biggs_andrews})
                for (const bool zero : {false, true})
                    for (const bool hold_out : {false, true}) {
                        options.method = method;
                        options.acceleration = acceleration;
                        options.boundary.reset();
                        if (zero) options.boundary = Boundary{BoundaryKind::zero};
                        options.hold_out = hold_out;
                        const Deconvolved on_cpu = deconvolved(specimen.recorded, psf, options);
                        const Deconvolved on_gpu =
                            deconvolved(specimen.recorded, psf, options, gpu_only());
                        const Comparison comparison = compare(on_cpu.result, on_gpu.result);
                        INFO(to_string(method)
                             << ", " << to_string(acceleration) << ", zero " << zero
                             << ", held out " << hold_out << ", image "
                             << to_string(volume_case.image) << ": " << comparison.report);
                        CHECK(comparison.error < 1e-4);
                        CHECK(on_gpu.report.iterations == on_cpu.report.iterations);
                        CHECK(on_gpu.report.restarts == on_cpu.report.restarts);
                    }
    }
}

TEST_CASE("device deconvolve: a PSF that varies with depth agrees with the CPU", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("PSFs at depths on the GPU"));
    const Shape3 shape{41, 37, 60};
    const Array image = random.integers(shape, 40, 90);
    std::vector<Volume> taps;
    std::vector<DepthPsf> psfs;
    for (int k = 0; k < 4; ++k)
        taps.push_back(
            to_volume(gaussian_psf({9, 9, 8}, {4, 4, 3}, {1 + 0.4 * k, 1 + 0.2 * k, 1.2}),
                      PixelType::float64));
    for (const Volume& one : taps)
        psfs.push_back({one.view(), 11.0 * static_cast<double>(psfs.size()), {}});
    DeconvolveOptions options;
    options.background = 5;
    options.iterations = 5;
    options.center = {KernelCenter::Kind::explicit_, {4, 4, 3}};
    const auto run = [&](const EngineChoice& engines) {
        const Deconvolver deconvolver(shape, psfs, options, engines);
        const Volume pixels = to_volume(image, PixelType::float32);
        Volume result(shape, PixelType::float32);
        deconvolver.execute(pixels.view(), result.view());
        return std::pair{deconvolver.plan(), to_array(result.view())};
    };
    for (const auto method :
         {DeconvolveMethod::richardson_lucy, DeconvolveMethod::scaled_heavy_ball,
          DeconvolveMethod::richardson_lucy_tv, DeconvolveMethod::non_negative_least_squares})
        for (const bool zero : {false, true}) {
            options.method = method;
            options.boundary.reset();
            if (zero) options.boundary = Boundary{};
            const Array wanted = run(cpu_only()).second;
            const auto [resident, on_gpu] = run(gpu_only());
            CHECK(resident.on_device);
            // Slabs on a GPU that is named twice, and walks on one that holds less.
            EngineChoice twice = gpu_only(), small = gpu_only();
            twice.gpus = {0, 0};
            small.max_gpu_bytes =
                resident.array_bytes + (resident.device_bytes - resident.array_bytes) / 2;
            INFO(to_string(method) << (zero ? ", zero" : ", extend"));
            const auto check = [&](const char* where, const Array& got) {
                const Comparison comparison = compare(wanted, got);
                INFO(where << ": " << comparison.report);
                CHECK(comparison.error < 1e-5);
            };
            check("one GPU", on_gpu);
            check("slabs", run(twice).second);
            try {
                const auto [walk, by_walk] = run(small);
                CHECK(!walk.on_device);
                check("walks", by_walk);
            } catch (const OutOfMemory& error) {
                WARN("SKIPPED: walks: " << error.what());
            }
        }
}

TEST_CASE("device deconvolve: the PSF's spectrum may be computed anew in each iteration", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("compact PSF"));
    // Transforms along z are so long that passes of a kept spectrum are faster.
    const Shape3 image{1050, 12, 10}, extent{9, 3, 3};
    const Index3 center{5, 1, 1};
    const Array psf = gaussian_psf(extent, center, {1.5, 0.8, 0.8});
    const Specimen specimen = bead_specimen(random, image, psf, center, 6, 20000, 5);
    const Volume taps = to_volume(psf, PixelType::float64);
    using Spectrum = gpu::ColumnConvolution::Spectrum;
    const auto seconds = [&](Spectrum spectrum) {
        const gpu::DeviceRates rates = gpu::device_rates(0);
        return gpu::convolution_seconds({.length = gpu::good_column_length(image.z + extent.z),
                                         .loaded = image.z,
                                         .stored = image.z,
                                         .taps = extent.z,
                                         .spectrum = spectrum},
                                        rates.memory, rates.multiply_adds);
    };
    const bool keeps_spectra = seconds(Spectrum::kept) < seconds(Spectrum::in_pass);
    for (const auto method :
         {DeconvolveMethod::richardson_lucy, DeconvolveMethod::wiener_butterworth}) {
        DeconvolveOptions options;
        options.method = method;
        options.iterations = 5;
        options.center = {KernelCenter::Kind::explicit_, center};
        const Deconvolver whole(image, taps.view(), options, gpu_only());
        EngineChoice small = gpu_only();
        small.max_gpu_bytes = whole.plan().device_bytes - 1;
        const Deconvolver compact(image, taps.view(), options, small);
        if (!keeps_spectra) {
            WARN("GPU 0 keeps no spectrum, since its passes are predicted to be faster without");
        } else {
            REQUIRE(compact.plan().on_device);
            CHECK(compact.plan().device_bytes < whole.plan().device_bytes);
        }
        const Array wanted = deconvolved(specimen.recorded, psf, options).result;
        for (const EngineChoice& choice : {gpu_only(), small}) {
            const Comparison comparison =
                compare(wanted, deconvolved(specimen.recorded, psf, options, choice).result);
            INFO(to_string(method)
                 << (choice.max_gpu_bytes ? ", limited: " : ": ") << comparison.report);
            CHECK(comparison.error < 1e-4);
        }
    }
}

TEST_CASE("device deconvolve: images of uint16 are kept as uint16 on the GPU", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("uint16 on the GPU"));
    const Index3 center{3, 3, 3};
    const Array psf = gaussian_psf({7, 7, 7}, center, {1.5, 1.5, 1.5});
    // The image has more pixels than a GPU converts to uint16 at once.
    Array recorded = bead_specimen(random, {20, 301, 220}, psf, center, 9, 60000, 500).recorded;
    for (auto& value : recorded.values) value = std::round(value.real());
    const Volume taps = to_volume(psf, PixelType::float64);
    DeconvolveOptions options;
    options.iterations = 4;
    options.background = 450;
    const Volume as_floats = to_volume(recorded, PixelType::float32);
    const Volume as_integers = to_volume(recorded, PixelType::uint16);
    const Deconvolver of_any(recorded.shape, taps.view(), options, gpu_only());
    options.image_type = PixelType::uint16;
    const Deconvolver of_integers(recorded.shape, taps.view(), options, gpu_only());
    CHECK(of_integers.plan().device_bytes < of_any.plan().device_bytes);
    const auto result_of = [&](const Deconvolver& deconvolver, const Volume& image) {
        Volume result(recorded.shape, PixelType::float32);
        deconvolver.execute(image.view(), result.view());
        return result;
    };
    const Volume wanted = result_of(of_any, as_floats);
    for (int repeat = 0; repeat < 2; ++repeat) {
        const Volume result = result_of(of_integers, as_integers);
        CHECK(std::memcmp(wanted.view().data, result.view().data,
                          static_cast<std::size_t>(wanted.bytes())) == 0);
    }
    CHECK_THROWS_AS(result_of(of_integers, as_floats), InvalidArgument);
}
