// SPDX-License-Identifier: Apache-2.0
// Convolvers and deconvolvers that share a workspace in GPU memory: the results are those of each
// alone, whatever the others leave there.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "convolume/device.hpp"
#include "gpu/volumes/workspace.hpp"
#include "tests/deconvolve/specimen.hpp"
#include "tests/gpu/device.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

gpu::Workspace& workspace_of(const WorkspaceOf& owner) {
    return static_cast<gpu::Workspace&>(*owner.get());
}

// All NaN, once the device has come to rest.
void poison(const WorkspaceOf& owner) {
    gpu::Workspace& workspace = workspace_of(owner);
    gpu::check(cudaDeviceSynchronize(), "working on the GPU");
    gpu::check(cudaMemset(workspace.data(), 0xFF, static_cast<std::size_t>(workspace.bytes())),
               "poisoning a workspace");
    gpu::check(cudaDeviceSynchronize(), "poisoning a workspace");
}

Volume volume_of_ones(const Shape3& shape) {
    Volume volume(shape, PixelType::float32);
    std::fill_n(volume.elements<float>(), element_count(shape), 1.0F);
    return volume;
}

// A recording, and what convolves and deconvolves it on the GPU. The convolver's kernel is larger
// than the PSF or smaller: so is its part of the workspace.
struct Bench {
    explicit Bench(bool large_kernel)
        : taps(to_volume(gaussian_psf({7, 9, 9}, {3, 4, 4}, {1.5, 1.5, 1.5}), PixelType::float32)) {
        Random random(test_seed("shared workspace"));
        const Specimen specimen =
            bead_specimen(random, {19, 37, 50}, to_array(taps.view()), {3, 4, 4}, 6, 20000, 5);
        image = to_volume(specimen.recorded, PixelType::float32);
        there = on_device(image);
        const Shape3 wide = large_kernel ? Shape3{31, 41, 61} : Shape3{3, 5, 5};
        kernel = to_volume(random.array(wide, false), PixelType::float32);
    }

    DeviceConvolver convolver(const WorkspaceOf& shared = {}) const {
        DeviceOptions on;
        on.workspace_of = shared;
        return {image.shape(), kernel.view(), {}, on};
    }
    DeviceDeconvolver deconvolver(const DeconvolveOptions& options, const WorkspaceOf& shared = {},
                                  std::optional<index_t> max_gpu_bytes = {}) const {
        DeviceDeconvolveOptions on;
        on.workspace_of = shared;
        on.max_gpu_bytes = max_gpu_bytes;
        return {image.shape(), taps.view(), options, on};
    }

    // The workspace that a convolver shares grows.
    void make_larger(const DeviceConvolver& shared, index_t steps) const {
        const index_t before = workspace_of(&shared).bytes();
        const Shape3 wide = kernel.shape();
        const Volume wider =
            volume_of_ones({wide.z, wide.y + 40 * (steps + 1), wide.x + 40 * (steps + 1)});
        DeviceOptions on;
        on.workspace_of = &shared;
        Options full;
        full.mode = Mode::full;
        const DeviceConvolver larger(image.shape(), wider.view(), full, on);
        if (workspace_of(&shared).bytes() <= before)
            throw InternalError("the workspace has not grown");
    }

    Array convolved(const DeviceConvolver& by, DeviceStream stream = {}) const {
        const gpu::DeviceMemory result(0, image.bytes());
        by.execute(there.data(), result.data(), stream);
        return to_array(fetched(result, image.shape(), PixelType::float32).view());
    }
    Array deconvolved(const DeviceDeconvolver& by, const DeconvolveRun& run = {},
                      const ExecutionContext& context = {}) const {
        const gpu::DeviceMemory result(0, image.bytes());
        by.execute(there.data(), result.data(), {}, run, context);
        return to_array(fetched(result, image.shape(), PixelType::float32).view());
    }

    Volume taps, image, kernel;
    gpu::DeviceMemory there;
};

// By passes with certain and uncertain steps, over arrays, with the other back projector, and with
// pixels left out, for which each execution finds the weights anew.
std::vector<DeconvolveOptions> ways() {
    std::vector<DeconvolveOptions> all(6);
    for (DeconvolveOptions& options : all) options.iterations = 6;
    all[0].acceleration = Acceleration::none;
    all[1].acceleration = Acceleration::biggs_andrews;
    all[2].method = DeconvolveMethod::richardson_lucy_tv;
    all[3].method = DeconvolveMethod::wiener;
    all[4].method = DeconvolveMethod::wiener_butterworth;
    all[5].saturation = 300;
    return all;
}

}  // namespace

TEST_CASE("shared workspace: convolver and deconvolver give what each gives alone", "[gpu]") {
    NEEDS_GPU();
    for (const bool large_kernel : {false, true}) {
        const Bench bench(large_kernel);
        const Array convolved = bench.convolved(bench.convolver());
        for (const DeconvolveOptions& options : ways()) {
            const Array deconvolved = bench.deconvolved(bench.deconvolver(options));
            for (const bool convolver_first : {false, true}) {
                INFO(to_string(options.method)
                     << ", " << to_string(options.acceleration) << ", large kernel " << large_kernel
                     << ", convolver first " << convolver_first);
                std::optional<DeviceConvolver> convolver;
                std::optional<DeviceDeconvolver> deconvolver;
                if (convolver_first) {
                    convolver.emplace(bench.convolver());
                    deconvolver.emplace(bench.deconvolver(options, &*convolver));
                } else {
                    deconvolver.emplace(bench.deconvolver(options));
                    convolver.emplace(bench.convolver(&*deconvolver));
                }
                REQUIRE(&workspace_of(&*convolver) == &workspace_of(&*deconvolver));
                for (int repeat = 0; repeat < 2; ++repeat) {
                    poison(&*convolver);
                    CHECK(bench.deconvolved(*deconvolver).values == deconvolved.values);
                    poison(&*convolver);
                    CHECK(bench.convolved(*convolver).values == convolved.values);
                    CHECK(bench.deconvolved(*deconvolver).values == deconvolved.values);
                }
                // Without the one whose it was.
                if (convolver_first) {
                    convolver.reset();
                    CHECK(bench.deconvolved(*deconvolver).values == deconvolved.values);
                } else {
                    deconvolver.reset();
                    CHECK(bench.convolved(*convolver).values == convolved.values);
                }
            }
        }
    }
}

TEST_CASE("shared workspace: its memory is there once", "[gpu]") {
    NEEDS_GPU();
    constexpr index_t roundings = 4 * gpu::DeviceMemory::alignment;
    const auto in_use = [] { return gpu::device_memory_use().current_bytes; };
    const Bench bench(false);
    const index_t none = in_use();
    const DeviceConvolver convolver = bench.convolver();
    const index_t of_convolver = in_use() - none;
    for (const DeconvolveOptions& options : ways()) {
        INFO(to_string(options.method));
        index_t saved = 0, declared = 0, taken = 0;
        Array wanted;
        {
            const index_t before = in_use();
            const DeviceDeconvolver alone = bench.deconvolver(options);
            saved = std::min(workspace_of(&convolver).bytes(), workspace_of(&alone).bytes());
            declared = alone.plan().device_bytes;
            taken = in_use() - before;
            wanted = bench.deconvolved(alone);
        }
        REQUIRE(saved > bench.image.bytes() / 2);
        // With less than it takes alone.
        const DeviceConvolver first = bench.convolver();
        const index_t before = in_use();
        const index_t limit = declared - saved / 2;
        const DeviceDeconvolver second = bench.deconvolver(options, &first, limit);
        CHECK(second.plan().device_bytes <= limit);
        CHECK(second.plan().device_bytes <= declared - saved + roundings);
        CHECK(in_use() - before <= taken - saved + roundings);
        const Comparison comparison = compare(wanted, bench.deconvolved(second));
        INFO(comparison.report);
        CHECK(comparison.error < 1e-5);

        const DeviceDeconvolver other_way = bench.deconvolver(options);
        const index_t then = in_use();
        const DeviceConvolver shares = bench.convolver(&other_way);
        CHECK(shares.device_bytes() <= convolver.device_bytes() - saved + roundings);
        CHECK(in_use() - then <= of_convolver - saved + roundings);
    }
}

TEST_CASE("shared workspace: others come in between iterations", "[gpu]") {
    NEEDS_GPU();
    const Bench bench(true);
    const Array convolved = bench.convolved(bench.convolver());
    const gpu::CudaStream stream;
    for (const DeconvolveOptions& options : ways()) {
        INFO(to_string(options.method) << ", " << to_string(options.acceleration));
        const DeviceDeconvolver deconvolver = bench.deconvolver(options);
        const DeviceConvolver convolver = bench.convolver(&deconvolver);
        const Array wanted = bench.deconvolved(deconvolver);
        int calls = 0, wrong = 0;
        const auto disturb = [&] {
            ++calls;
            wrong += bench.convolved(convolver, static_cast<cudaStream_t>(stream)).values !=
                     convolved.values;
            // Not by a turn of its own: the deconvolver sees the convolver's.
            poison(&convolver);
        };
        DeconvolveRun run;
        run.on_iteration = [&](const Iteration&, const EstimateReader&) { disturb(); };
        ExecutionContext context;
        context.progress = [&](double) { disturb(); };  // within iterations, too
        const Comparison comparison = compare(wanted, bench.deconvolved(deconvolver, run, context));
        INFO(comparison.report);
        CHECK(comparison.error < 1e-5);
        CHECK(calls > 1);
        CHECK(wrong == 0);
    }
}

TEST_CASE("shared workspace: executions of several threads keep apart", "[gpu]") {
    NEEDS_GPU();
    const Bench bench(true);
    const Array convolved = bench.convolved(bench.convolver());
    for (const DeconvolveOptions& options : ways()) {
        INFO(to_string(options.method) << ", " << to_string(options.acceleration));
        const DeviceDeconvolver deconvolver = bench.deconvolver(options);
        const Array wanted = bench.deconvolved(deconvolver);
        const DeviceConvolver convolver = bench.convolver(&deconvolver);
        int wrong = 0;
        double worst = 0;
        std::string failure;
        {
            std::jthread convolves([&](const std::stop_token& stop) {
                try {
                    const gpu::CudaStream stream;
                    for (index_t k = 0; !stop.stop_requested(); ++k) {
                        wrong +=
                            bench.convolved(convolver, static_cast<cudaStream_t>(stream)).values !=
                            convolved.values;
                        if (k < 8) bench.make_larger(convolver, k);
                    }
                } catch (const std::exception& error) {
                    failure = error.what();
                }
            });
            for (int repeat = 0; repeat < 5; ++repeat)
                worst = std::max(worst, compare(wanted, bench.deconvolved(deconvolver)).error);
        }
        CHECK(failure == "");
        CHECK(wrong == 0);
        CHECK(worst < 1e-5);
    }
}

TEST_CASE("shared workspace: two deconvolvers, and a deconvolver by a copy of its owner's name",
          "[gpu]") {
    NEEDS_GPU();
    const Bench bench(false);
    for (const DeconvolveOptions& options : ways()) {
        INFO(to_string(options.method) << ", " << to_string(options.acceleration));
        auto first = std::make_unique<DeviceDeconvolver>(bench.deconvolver(options));
        const Array wanted = bench.deconvolved(*first);
        const DeviceDeconvolver second = bench.deconvolver(options, first.get());
        CHECK(second.plan().device_bytes <
              first->plan().device_bytes - workspace_of(first.get()).bytes() / 2);
        CHECK(bench.deconvolved(second).values == wanted.values);
        CHECK(bench.deconvolved(*first).values == wanted.values);
        const WorkspaceOf name(first.get());
        first.reset();
        const DeviceDeconvolver third = bench.deconvolver(options, name);
        CHECK(bench.deconvolved(third).values == wanted.values);
        CHECK(bench.deconvolved(second).values == wanted.values);
    }
}

TEST_CASE("workspace: where there is no room for more, users get theirs again", "[gpu]") {
    NEEDS_GPU();
    gpu::Workspace workspace(0);
    const gpu::CudaStream stream;
    const auto contents = [&](index_t bytes) {
        std::vector<char> values(static_cast<std::size_t>(bytes), 'x');
        workspace.use(&stream, bytes, stream, [&](bool) {
            gpu::check(cudaMemcpyAsync(values.data(), workspace.data(), values.size(),
                                       cudaMemcpyDeviceToHost, stream),
                       "copying from the GPU");
        });
        stream.wait();
        return values;
    };
    CHECK(workspace.grow(4096) == 4096);
    CHECK(workspace.grow(1000) == 0);
    CHECK_THROWS_AS(workspace.grow(index_t{1} << 50), OutOfMemory);
    CHECK(contents(4096) == std::vector<char>(4096, 0));
    CHECK(workspace.bytes() == 4096);
    bool left = false;
    const int others = 0;
    const auto look = [&](bool as_left) { left = as_left; };
    workspace.use(&stream, 4096, stream, look);
    CHECK(left);
    workspace.use(&others, 64, stream, look);
    CHECK(!left);
    workspace.use(&stream, 4096, stream, look);
    CHECK(!left);
    CHECK(workspace.grow(8192) == 4096);
    workspace.use(&stream, 4096, stream, look);
    CHECK(!left);
    if (!gpu::has_fault_injection) return;
    gpu::inject_fault(gpu::InjectedFault::allocation, 1);
    CHECK(workspace.grow(16384) == 8192);
    gpu::inject_fault(gpu::InjectedFault::none, 0);
    CHECK(contents(16384) == std::vector<char>(16384, 0));
}

TEST_CASE("shared workspace: that of another GPU is refused", "[gpu]") {
    struct Elsewhere : DeviceWorkspace {
        int device() const override { return 3; }
    };
    const WorkspaceOf elsewhere(std::make_shared<Elsewhere>());
    const std::string said =
        message_of<InvalidArgument>([&] { require_on_device(elsewhere.get().get(), 1); });
    CHECK(contains(said, "GPU 1"));
    CHECK(contains(said, "GPU 3"));
    CHECK_NOTHROW(require_on_device(elsewhere.get().get(), 3));
    CHECK_NOTHROW(require_on_device(nullptr, 1));
    CHECK(WorkspaceOf(static_cast<const DeviceConvolver*>(nullptr)).get() == nullptr);
    NEEDS_GPU();
    const Bench bench(false);
    CHECK_THROWS_AS(bench.convolver(elsewhere), InvalidArgument);
    CHECK_THROWS_AS(bench.deconvolver({}, elsewhere), InvalidArgument);
}
