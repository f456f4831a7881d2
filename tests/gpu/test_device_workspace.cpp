// SPDX-License-Identifier: Apache-2.0
// Tests convolvers and deconvolvers that share a workspace in GPU memory: the results equal those
// of each alone, whatever the others leave in the workspace.

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

// Waits for the device, and fills the workspace with NaN.
void poison_workspace(const WorkspaceOf& owner) {
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

// A recording, and objects that convolve and deconvolve it on the GPU. The convolver's kernel is
// larger or smaller than the PSF, and so is its part of the workspace.
struct WorkspaceSetup {
    explicit WorkspaceSetup(bool large_kernel)
        : taps(to_volume(gaussian_psf({7, 9, 9}, {3, 4, 4}, {1.5, 1.5, 1.5}), PixelType::float32)) {
        Random random(test_seed("shared workspace"));
        const Specimen specimen =
            bead_specimen(random, {19, 37, 50}, to_array(taps.view()), {3, 4, 4}, 6, 20000, 5);
        image = to_volume(specimen.recorded, PixelType::float32);
        image_on_gpu = on_device(image);
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

    // Makes the workspace that `shared` uses grow.
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
        by.execute(image_on_gpu.data(), result.data(), stream);
        return to_array(fetched(result, image.shape(), PixelType::float32).view());
    }
    Array deconvolved(const DeviceDeconvolver& by, const DeconvolveRun& run = {},
                      const ExecutionContext& context = {}) const {
        const gpu::DeviceMemory result(0, image.bytes());
        by.execute(image_on_gpu.data(), result.data(), {}, run, context);
        return to_array(fetched(result, image.shape(), PixelType::float32).view());
    }

    Volume taps, image, kernel;
    gpu::DeviceMemory image_on_gpu;
};

// Options for passes with steps that may and may not be rejected, for whole arrays, for another
// back projector, and for saturated pixels, for which each execution computes the weights anew.
std::vector<DeconvolveOptions> option_cases() {
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

TEST_CASE("shared workspace: convolver and deconvolver give the results of each alone", "[gpu]") {
    NEEDS_GPU();
    for (const bool large_kernel : {false, true}) {
        const WorkspaceSetup setup(large_kernel);
        const Array convolved = setup.convolved(setup.convolver());
        for (const DeconvolveOptions& options : option_cases()) {
            const Array deconvolved = setup.deconvolved(setup.deconvolver(options));
            for (const bool convolver_first : {false, true}) {
                INFO(to_string(options.method)
                     << ", " << to_string(options.acceleration) << ", large kernel " << large_kernel
                     << ", convolver first " << convolver_first);
                std::optional<DeviceConvolver> convolver;
                std::optional<DeviceDeconvolver> deconvolver;
                if (convolver_first) {
                    convolver.emplace(setup.convolver());
                    deconvolver.emplace(setup.deconvolver(options, &*convolver));
                } else {
                    deconvolver.emplace(setup.deconvolver(options));
                    convolver.emplace(setup.convolver(&*deconvolver));
                }
                REQUIRE(&workspace_of(&*convolver) == &workspace_of(&*deconvolver));
                for (int repeat = 0; repeat < 2; ++repeat) {
                    poison_workspace(&*convolver);
                    CHECK(setup.deconvolved(*deconvolver).values == deconvolved.values);
                    poison_workspace(&*convolver);
                    CHECK(setup.convolved(*convolver).values == convolved.values);
                    CHECK(setup.deconvolved(*deconvolver).values == deconvolved.values);
                }
                // The workspace outlives the object that created it.
                if (convolver_first) {
                    convolver.reset();
                    CHECK(setup.deconvolved(*deconvolver).values == deconvolved.values);
                } else {
                    deconvolver.reset();
                    CHECK(setup.convolved(*convolver).values == convolved.values);
                }
            }
        }
    }
}

TEST_CASE("shared workspace: its memory is allocated once", "[gpu]") {
    NEEDS_GPU();
    constexpr index_t roundings = 4 * gpu::DeviceMemory::alignment;
    const auto in_use = [] { return gpu::device_memory_use().current_bytes; };
    const WorkspaceSetup setup(false);
    const index_t none = in_use();
    const DeviceConvolver convolver = setup.convolver();
    const index_t of_convolver = in_use() - none;
    for (const DeconvolveOptions& options : option_cases()) {
        INFO(to_string(options.method));
        index_t saved = 0, declared = 0, used = 0;
        Array wanted;
        {
            const index_t before = in_use();
            const DeviceDeconvolver alone = setup.deconvolver(options);
            saved = std::min(workspace_of(&convolver).bytes(), workspace_of(&alone).bytes());
            declared = alone.plan().device_bytes;
            used = in_use() - before;
            wanted = setup.deconvolved(alone);
        }
        REQUIRE(saved > setup.image.bytes() / 2);
        // With a limit below the memory that it needs without sharing.
        const DeviceConvolver first = setup.convolver();
        const index_t before = in_use();
        const index_t limit = declared - saved / 2;
        const DeviceDeconvolver second = setup.deconvolver(options, &first, limit);
        CHECK(second.plan().device_bytes <= limit);
        CHECK(second.plan().device_bytes <= declared - saved + roundings);
        CHECK(in_use() - before <= used - saved + roundings);
        const Comparison comparison = compare(wanted, setup.deconvolved(second));
        INFO(comparison.report);
        CHECK(comparison.error < 1e-5);

        const DeviceDeconvolver deconvolver = setup.deconvolver(options);
        const index_t then = in_use();
        const DeviceConvolver shares = setup.convolver(&deconvolver);
        CHECK(shares.device_bytes() <= convolver.device_bytes() - saved + roundings);
        CHECK(in_use() - then <= of_convolver - saved + roundings);
    }
}

TEST_CASE("shared workspace: a convolver may run between iterations", "[gpu]") {
    NEEDS_GPU();
    const WorkspaceSetup setup(true);
    const Array convolved = setup.convolved(setup.convolver());
    const gpu::CudaStream stream;
    for (const DeconvolveOptions& options : option_cases()) {
        INFO(to_string(options.method) << ", " << to_string(options.acceleration));
        const DeviceDeconvolver deconvolver = setup.deconvolver(options);
        const DeviceConvolver convolver = setup.convolver(&deconvolver);
        const Array wanted = setup.deconvolved(deconvolver);
        int calls = 0, wrong = 0;
        const auto disturb = [&] {
            ++calls;
            wrong += setup.convolved(convolver, static_cast<cudaStream_t>(stream)).values !=
                     convolved.values;
            // Changes the workspace without use(): the deconvolver must notice the convolver's
            // execution.
            poison_workspace(&convolver);
        };
        DeconvolveRun run;
        run.on_iteration = [&](const Iteration&, const EstimateReader&) { disturb(); };
        ExecutionContext context;
        context.progress = [&](double) { disturb(); };  // within iterations, too
        const Comparison comparison = compare(wanted, setup.deconvolved(deconvolver, run, context));
        INFO(comparison.report);
        CHECK(comparison.error < 1e-5);
        CHECK(calls > 1);
        CHECK(wrong == 0);
    }
}

TEST_CASE("shared workspace: executions of several threads do not disturb each other", "[gpu]") {
    NEEDS_GPU();
    const WorkspaceSetup setup(true);
    const Array convolved = setup.convolved(setup.convolver());
    for (const DeconvolveOptions& options : option_cases()) {
        INFO(to_string(options.method) << ", " << to_string(options.acceleration));
        const DeviceDeconvolver deconvolver = setup.deconvolver(options);
        const Array wanted = setup.deconvolved(deconvolver);
        const DeviceConvolver convolver = setup.convolver(&deconvolver);
        int wrong = 0;
        double worst = 0;
        std::string failure;
        {
            std::jthread convolves([&](const std::stop_token& stop) {
                try {
                    const gpu::CudaStream stream;
                    for (index_t k = 0; !stop.stop_requested(); ++k) {
                        wrong +=
                            setup.convolved(convolver, static_cast<cudaStream_t>(stream)).values !=
                            convolved.values;
                        if (k < 8) setup.make_larger(convolver, k);
                    }
                } catch (const std::exception& error) {
                    failure = error.what();
                }
            });
            for (int repeat = 0; repeat < 5; ++repeat)
                worst = std::max(worst, compare(wanted, setup.deconvolved(deconvolver)).error);
        }
        CHECK(failure == "");
        CHECK(wrong == 0);
        CHECK(worst < 1e-5);
    }
}

TEST_CASE("shared workspace: two deconvolvers share it, also through a copy of WorkspaceOf",
          "[gpu]") {
    NEEDS_GPU();
    const WorkspaceSetup setup(false);
    for (const DeconvolveOptions& options : option_cases()) {
        INFO(to_string(options.method) << ", " << to_string(options.acceleration));
        auto first = std::make_unique<DeviceDeconvolver>(setup.deconvolver(options));
        const Array wanted = setup.deconvolved(*first);
        const DeviceDeconvolver second = setup.deconvolver(options, first.get());
        CHECK(second.plan().device_bytes <
              first->plan().device_bytes - workspace_of(first.get()).bytes() / 2);
        CHECK(setup.deconvolved(second).values == wanted.values);
        CHECK(setup.deconvolved(*first).values == wanted.values);
        const WorkspaceOf name(first.get());
        first.reset();
        const DeviceDeconvolver third = setup.deconvolver(options, name);
        CHECK(setup.deconvolved(third).values == wanted.values);
        CHECK(setup.deconvolved(second).values == wanted.values);
    }
}

TEST_CASE("workspace: if it cannot grow, its users can still use what they had", "[gpu]") {
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
    const int other_user = 0;
    const auto look = [&](bool as_left) { left = as_left; };
    workspace.use(&stream, 4096, stream, look);
    CHECK(left);
    workspace.use(&other_user, 64, stream, look);
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

TEST_CASE("shared workspace: the workspace of another GPU is refused", "[gpu]") {
    struct OtherGpuWorkspace : DeviceWorkspace {
        int device() const override { return 3; }
    };
    const WorkspaceOf elsewhere(std::make_shared<OtherGpuWorkspace>());
    const std::string said =
        message_of<InvalidArgument>([&] { require_on_device(elsewhere.get().get(), 1); });
    CHECK(contains(said, "GPU 1"));
    CHECK(contains(said, "GPU 3"));
    CHECK_NOTHROW(require_on_device(elsewhere.get().get(), 3));
    CHECK_NOTHROW(require_on_device(nullptr, 1));
    CHECK(WorkspaceOf(static_cast<const DeviceConvolver*>(nullptr)).get() == nullptr);
    NEEDS_GPU();
    const WorkspaceSetup setup(false);
    CHECK_THROWS_AS(setup.convolver(elsewhere), InvalidArgument);
    CHECK_THROWS_AS(setup.deconvolver({}, elsewhere), InvalidArgument);
}
