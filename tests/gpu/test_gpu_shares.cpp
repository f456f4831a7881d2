// SPDX-License-Identifier: Apache-2.0
// Tests a GPU that is named several times: its memory is divided, not counted several times.

#include "gpu/runtime/device.hpp"
#include "tests/deconvolve/specimen.hpp"
#include "tests/gpu/device.hpp"
#include "tests/support/compare.hpp"

using namespace convolume;
using namespace convolume::testing;

TEST_CASE("shares: each engine gets its share of a given limit") {
    GpuOptions options;
    options.memory_limit_bytes = 1000;
    CHECK(gpu::occurrences_of({0, 1, 0}, 0) == 2);
    CHECK(gpu::occurrences_of({0, 1, 0}, 1) == 1);
    CHECK(gpu::device_limit(options, {0, 1}, 1) == 1000);
    CHECK(gpu::device_limit(options, {0, 0}, 0) == 500);
    CHECK(gpu::device_limit(options, {0, 1, 0, 0}, 0) == 333);
    options.memory_limit_bytes = 1;
    CHECK(gpu::device_limit(options, {0, 0}, 0) == 1);  // a share rounded to 0 would mean no limit
}

TEST_CASE("shares: engines on one GPU share its memory", "[gpu]") {
    NEEDS_GPU();
    GpuOptions options;
    options.devices = {0, 0};
    const index_t free = gpu::free_device_bytes(0);
    const auto limits_fit = [&](const auto& engines) {
        REQUIRE(engines.size() == 2);
        const index_t each = engines[0]->info().memory_limit_bytes;
        CHECK(each > 0);
        CHECK(each + engines[1]->info().memory_limit_bytes <= free);
    };
    limits_fit(gpu::make_engines(options));
    limits_fit(gpu::make_filter_engines(options));
}

TEST_CASE("shares: slabs of a deconvolution together stay within a GPU's limit", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("shares of a GPU"));
    const Index3 center{3, 3, 3};
    const Array psf = gaussian_psf({7, 7, 7}, center, {1.5, 1.5, 1.5});
    const Specimen specimen = bead_specimen(random, {70, 48, 56}, psf, center, 6, 20000, 5);
    const Volume taps = to_volume(psf, PixelType::float64);
    for (const auto method :
         {DeconvolveMethod::richardson_lucy, DeconvolveMethod::richardson_lucy_tv}) {
        DeconvolveOptions options;
        options.method = method;
        options.iterations = 4;
        EngineChoice twice;
        twice.device = EngineChoice::Device::gpu;
        twice.gpus = {0, 0};
        const Deconvolver large(specimen.recorded.shape, taps.view(), options, twice);
        const index_t bytes = large.plan().device_bytes;
        // Limits as shares of the bytes that the slabs take on the GPU without a limit.
        for (const double share : {1.3, 0.95, 0.8}) {
            twice.max_gpu_bytes = static_cast<index_t>(share * static_cast<double>(bytes));
            try {
                const Deconvolver limited(specimen.recorded.shape, taps.view(), options, twice);
                INFO(to_string(method) << " in " << share << ": " << limited.plan().to_string());
                CHECK((share < 1 || limited.plan().on_device));
                if (limited.plan().on_device)
                    CHECK(limited.plan().device_bytes <= *twice.max_gpu_bytes);
            } catch (const OutOfMemory&) {  // neither slabs nor walks fit
                CHECK(share < 1);
            }
        }
        twice.max_gpu_bytes = bytes / 100 * 130;
        const Comparison comparison =
            compare(deconvolved(specimen.recorded, psf, options, cpu_only()).result,
                    deconvolved(specimen.recorded, psf, options, twice).result);
        INFO(comparison.report);
        CHECK(comparison.error < 1e-3);  // as close as results of the CPU and of one slab
    }
}
