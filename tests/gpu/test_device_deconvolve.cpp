// SPDX-License-Identifier: Apache-2.0
// Deconvolution that stays in a GPU's memory: the promises of tests/deconvolve, and the same
// results as on the CPU.

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

TEST_CASE("device deconvolve: iterations are those of Richardson and Lucy") {
    NEEDS_GPU();
    check_iterations(gpu_only());
}

TEST_CASE("device deconvolve: wiener solves its system") {
    NEEDS_GPU();
    check_wiener(gpu_only());
}

TEST_CASE("device deconvolve: photons are preserved, likelihood rises") {
    NEEDS_GPU();
    check_flux(gpu_only());
    check_likelihood(gpu_only());
    check_heavy_ball(gpu_only());
    check_held_out(gpu_only());
}

TEST_CASE("device deconvolve: beads become sharper and stay in place") {
    NEEDS_GPU();
    check_beads(gpu_only());
}

TEST_CASE("device deconvolve: as on the CPU, whether arrays fit a GPU or stream through it") {
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
          DeconvolveMethod::wiener_butterworth, DeconvolveMethod::gradient_consensus}) {
        options.method = method;
        const Deconvolved on_cpu = deconvolved(specimen.recorded, psf, options);
        const Deconvolver resident(specimen.recorded.shape, taps.view(), options, gpu_only());
        CHECK(resident.plan().on_device);
        CHECK(resident.plan().device_bytes > resident.plan().array_bytes);
        const Deconvolved on_gpu = deconvolved(specimen.recorded, psf, options, gpu_only());
        // Roundings of two FFTs, carried on by ten iterations.
        const Comparison comparison = compare(on_cpu.result, on_gpu.result);
        INFO(to_string(method) << ": " << comparison.report);
        CHECK(comparison.error < 1e-3);
        CHECK(on_gpu.result.values ==
              deconvolved(specimen.recorded, psf, options, gpu_only()).result.values);

        // A GPU with less memory than the arrays take.
        EngineChoice small = gpu_only();
        small.max_gpu_bytes = resident.plan().array_bytes / 2;
        try {
            const Deconvolver streaming(specimen.recorded.shape, taps.view(), options, small);
            CHECK(!streaming.plan().on_device);
            CHECK(contains(streaming.plan().why_not_on_device, "GPU"));
        } catch (const OutOfMemory& error) {
            WARN("SKIPPED the streaming half: " << error.what());
            continue;
        }
        const Comparison streamed =
            compare(on_cpu.result, deconvolved(specimen.recorded, psf, options, small).result);
        INFO("streamed: " << streamed.report);
        CHECK(streamed.error < 1e-3);
    }
}

TEST_CASE("device deconvolve: the limit of a GPU's memory is kept") {
    NEEDS_GPU();
    const Array psf = gaussian_psf({5, 9, 9}, {2, 4, 4}, {1, 2, 2});
    EngineChoice choice = gpu_only();
    choice.max_gpu_bytes = index_t{512} << 20;
    DeconvolveOptions options;
    options.iterations = 2;
    const Deconvolver deconvolver({64, 256, 256}, to_volume(psf, PixelType::float32).view(),
                                  options, choice);
    CHECK(deconvolver.plan().on_device);
    CHECK(deconvolver.plan().device_bytes <= *choice.max_gpu_bytes);
}
