// SPDX-License-Identifier: Apache-2.0
// Runs the conformance suite of all engines on the GPU engine.

#include "gpu/runtime/device_memory.hpp"
#include "tests/gpu/device.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/conformance_cases.hpp"
#include "tests/support/engine_conformance.hpp"

using namespace convolume;
using namespace convolume::testing;

TEST_CASE("GPU engine: results agree with the oracle", "[gpu]") {
    NEEDS_GPU();
    check_engine_results(gpu_engine(), case_count(400));
}
TEST_CASE("GPU engine: every pixel type is read and written", "[gpu]") {
    NEEDS_GPU();
    check_engine_pixel_types(gpu_engine());
}
TEST_CASE("GPU engine: the result may replace its source", "[gpu]") {
    NEEDS_GPU();
    check_engine_in_place(gpu_engine());
}
TEST_CASE("GPU engine: memory stays within the estimate", "[gpu]") {
    NEEDS_GPU();
    check_engine_memory(
        gpu_engine(),
        [] {
            const gpu::DeviceMemoryUse use = gpu::device_memory_use();
            return MemoryUse{use.current_bytes, use.peak_bytes};
        },
        gpu::reset_device_memory_peak);
}
TEST_CASE("GPU engine: several threads may use one kernel", "[gpu]") {
    NEEDS_GPU();
    check_engine_concurrency(gpu_engine());
}
TEST_CASE("GPU engine: a requested stop ends a convolution", "[gpu]") {
    NEEDS_GPU();
    check_engine_cancellation(gpu_engine());
}

namespace {

// Returns a linear block to be computed by a walk along z. Memory limits divide it into windows.
BlockCase walked_case(Random& random, Algorithm algorithm) {
    const Shape3 kernel{random.integer(1, 9), random.integer(1, 6), random.integer(1, 6)};
    const Shape3 loaded{random.integer(1, 120), random.integer(1, 24), random.integer(1, 24)};
    Shape3 grid;
    for (int a = 0; a < 3; ++a) grid[a] = loaded[a] + kernel[a] - 1;
    grid.x += grid.x % 2;
    BlockCase c =
        plain_case(random, grid, kernel, random.pick({Precision::float32, Precision::float64}));
    c.block.algorithm = algorithm;
    c.block.walks = algorithm == Algorithm::fft;
    for (int a = 0; a < 3; ++a) {
        BlockAxis& axis = c.block.axes[static_cast<std::size_t>(a)];
        axis.loaded = loaded[a];
        axis.kept_begin = random.integer(0, grid[a] - 1);
        axis.kept = random.integer(1, grid[a] - axis.kept_begin);
        auto& gather = c.gather[static_cast<std::size_t>(a)];
        gather.clear();
        for (index_t i = 0; i < loaded[a]; ++i)  // indices mostly in order, as for boundaries
            gather.push_back(random.chance(0.1) ? -1 : std::min(i, c.source.shape[a] - 1));
    }
    return c;
}

}  // namespace

TEST_CASE(
    "GPU engine: walks along z agree with the oracle, in one window or in one for every plane",
    "[gpu]") {
    NEEDS_GPU();
    const Algorithm algorithm = GENERATE(Algorithm::fft, Algorithm::direct);
    const std::uint64_t seed = test_seed("gpu walks");
    int failures = 0, walks = 0;
    for (std::uint64_t n = 0; n < case_count(300) && failures < 5; ++n) {
        Random random(seed, n);
        const BlockCase c = walked_case(random, algorithm);
        const Array want = c.expected();
        const auto generous = gpu_engine();
        const BlockCost cost = generous->estimate(c.block);
        // The limits decrease to the memory of a window of a few planes.
        for (const int share : {1, 3, 8}) {
            const auto engine =
                share == 1 ? generous
                           : gpu_engine((cost.workspace_bytes + cost.kernel_bytes) / share);
            const BlockCost smaller = engine->estimate(c.block);
            if (smaller.workspace_bytes + smaller.kernel_bytes > engine->memory_limit_bytes())
                continue;
            walks += smaller.slab_planes < c.block.axes[0].kept;
            const Volume source = to_volume(c.source, c.source_type), taps = c.taps_volume();
            const auto kernel = engine->prepare(c.block, taps.view());
            for (int execution = 1; execution <= 2; ++execution) {
                Volume target(c.block.kept(), pixel_type(c.block.precision, c.block.complex_data));
                poison(target.view());
                engine->convolve(c.block, *kernel, c.input(source.view()), {target.view(), c.add},
                                 0, {});
                const auto comparison = compare(want, to_array(target.view()), c.norm_floor());
                INFO("case " << n << " share " << share << " execution " << execution << ": "
                             << c.describe() << "\n"
                             << comparison.report);
                CHECK(comparison.within(c.block.precision));
                failures += !comparison.within(c.block.precision);
            }
        }
    }
    CHECK(walks > 0);
}

TEST_CASE("GPU engine: failed allocations and transfers are errors, and the next call works",
          "[gpu]") {
    NEEDS_GPU();
    NEEDS_FAULT_INJECTION();
    Random random(test_seed("gpu faults"));
    const BlockCase c = plain_case(random, {12, 20, 24}, {3, 5, 4}, Precision::float32);
    const Volume source = to_volume(c.source, c.source_type), taps = c.taps_volume();
    Volume target(c.block.kept(), PixelType::float32);
    for (const gpu::InjectedFault fault :
         {gpu::InjectedFault::allocation, gpu::InjectedFault::transfer})
        for (const int countdown : {1, 2}) {
            const auto engine = gpu_engine();
            const auto run = [&] {
                const auto kernel = engine->prepare(c.block, taps.view());
                engine->convolve(c.block, *kernel, c.input(source.view()), {target.view(), c.add},
                                 0, {});
            };
            gpu::inject_fault(fault, countdown);
            if (fault == gpu::InjectedFault::allocation)
                CHECK_THROWS_AS(run(), OutOfMemory);
            else
                CHECK_THROWS_AS(run(), DeviceFailure);
            gpu::inject_fault(gpu::InjectedFault::none, 0);
            poison(target.view());
            run();
            CHECK(compare(c.expected(), to_array(target.view())).within(Precision::float32));
        }
}
