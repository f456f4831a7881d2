// SPDX-License-Identifier: Apache-2.0
// Tests what convolutions of images in the memory of several GPUs take and need: memory, access
// between GPUs, and requests that they refuse.

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "convolume/device.hpp"
#include "convolume/error.hpp"
#include "gpu/runtime/fault.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device.hpp"
#include "tests/gpu/slabs.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

TEST_CASE("spread convolver: every GPU holds its part of the memory", "[gpu]") {
    NEEDS_GPU();
    const std::vector<int> devices{0, gpu::device_count() > 1 ? 1 : 0};
    const Volume kernel = random_image({9, 9, 9}, 1);
    const auto made = [&](const DeviceOptions& options,
                          const std::optional<gpu::SpreadMethod>& method) {
        gpu::SpreadTuning tuning;
        tuning.method = method;
        const TuningScope scope(tuning);
        return DeviceConvolver({512, 256, 256}, kernel.view(), {}, options);
    };
    for (const bool keep : {true, false}) {
        DeviceOptions options;
        options.keep_kernel_spectrum = keep;
        const auto one = static_cast<double>(made(options, {}).device_bytes());
        options.devices = devices;
        // Halos are 4 of 256 planes. If the kernel's spectrum is kept, it has 288 planes in place
        // of 264.
        for (const auto& [method, most] :
             {std::pair{gpu::SpreadMethod::columns, 1.05}, {gpu::SpreadMethod::halos, 1.1}}) {
            const DeviceConvolver several = made(options, method);
            for (const DeviceSlab& slab : several.slabs())
                CHECK(static_cast<double>(slab.device_bytes) < most * one / 2);
        }
        // Without memory for halos and the whole spectrum, the work is divided otherwise.
        const index_t with_halos = made(options, gpu::SpreadMethod::halos).device_bytes(),
                      by_columns = made(options, gpu::SpreadMethod::columns).device_bytes();
        for (const index_t limit : {with_halos - 4096, by_columns}) {
            options.max_gpu_bytes = limit;
            CHECK(made(options, {}).device_bytes() <= limit);
        }
    }
}

TEST_CASE("spread convolver: GPUs that do not reach each other exchange halos through the host",
          "[gpu]") {
    NEEDS_GPU();
    gpu::SpreadTuning tuning;
    tuning.reaches_peers = false;
    const TuningScope scope(tuning);
    DeviceOptions options;
    options.devices = {0, gpu::device_count() > 1 ? 1 : 0};
    const Volume kernel = random_image({9, 9, 9}, 1);
    CHECK(DeviceConvolver({64, 64, 64}, kernel.view(), {}, options).slabs().size() == 2);
    // A kernel as long as the image needs all planes, and a folded result lies on all GPUs.
    const Volume long_kernel = random_image({64, 9, 9}, 1);
    Options circular;
    circular.boundary.kind = BoundaryKind::wrap;
    CHECK_THROWS_AS(DeviceConvolver({64, 64, 64}, long_kernel.view(), circular, options),
                    GpuUnavailable);
    Options folded;
    folded.boundary.kind = BoundaryKind::reflect;
    folded.operation = Operation::adjoint;
    CHECK_THROWS_AS(DeviceConvolver({64, 64, 64}, kernel.view(), folded, options), GpuUnavailable);
}

TEST_CASE("spread convolver: executions allocate nothing, with slabs that only make planes",
          "[gpu]") {
    NEEDS_GPU();
    const std::vector<int> devices{0, gpu::device_count() > 1 ? 1 : 0};
    const Shape3 shape{48, 90, 70};  // lengths that no other test transforms
    gpu::SpreadTuning tuning;
    tuning.method = gpu::SpreadMethod::halos;
    const TuningScope scope(tuning);
    for (const bool on_device : {false, true}) {
        DeviceOptions options;
        options.devices = devices;
        options.output_planes = {48, 0};
        options.kernel_on_device = on_device;
        const Volume kernel = random_image({5, 7, 9}, 1), image = random_image(shape, 2);
        ConstImageView given = kernel.view();
        if (on_device) given.data = nullptr;
        const DeviceConvolver convolver(shape, given, {}, options);
        Volume result(shape, PixelType::float32);
        const VolumeSlabs input = input_slabs(convolver, image),
                          output = output_slabs(convolver, result);
        const gpu::DeviceMemory taps(0, kernel.bytes());
        copy_to_device(taps.data(), kernel.view().data, kernel.bytes());
        const index_t before = gpu::device_memory_use().current_bytes;
        if (on_device)
            convolver.execute_with_kernel(input.inputs(), taps.data(), output.outputs());
        else
            convolver.execute(input.inputs(), output.outputs());
        CHECK(gpu::device_memory_use().current_bytes == before);
        output.fetch(result);
        CHECK(convolver.device_bytes() > 0);
    }
}

TEST_CASE("spread convolver: memory that is refused leaves nothing behind", "[gpu]") {
    NEEDS_GPU();
    NEEDS_FAULT_INJECTION();
    const std::vector<int> devices{0, gpu::device_count() > 1 ? 1 : 0};
    const Volume kernel = random_image({5, 5, 5}, 1);
    DeviceOptions options;
    options.devices = devices;
    Options adjoint;
    adjoint.operation = Operation::adjoint;
    adjoint.boundary.kind = BoundaryKind::reflect;
    const auto make = [&] {
        return DeviceConvolver({32, 64, 64}, kernel.view(), adjoint, options);
    };
    static_cast<void>(make());  // tables that stay
    const index_t before = gpu::device_memory_use().current_bytes;
    int refused = 0;
    for (int call = 1; call < 100; ++call) {
        gpu::inject_fault(gpu::InjectedFault::allocation, call);
        try {
            static_cast<void>(make());
            break;
        } catch (const OutOfMemory&) {
            ++refused;
        }
        CHECK(gpu::device_memory_use().current_bytes == before);
    }
    gpu::inject_fault(gpu::InjectedFault::none, 0);
    CHECK(refused > 5);
    CHECK(gpu::device_memory_use().current_bytes == before);
}

TEST_CASE("spread convolver: requests that cannot be fulfilled are refused with a reason",
          "[gpu]") {
    NEEDS_GPU();
    const Volume kernel = random_image({3, 3, 3}, 1);
    DeviceOptions options;
    options.devices = {0, 0};
    const auto refusal = [&](const Shape3& shape) {
        return message_of<Error>([&] { DeviceConvolver(shape, kernel.view(), {}, options); });
    };
    options.input_planes = {3, 4};
    CHECK(contains(refusal({8, 8, 8}), "7 planes of the input"));
    options.input_planes = {9, -1};
    CHECK(contains(refusal({8, 8, 8}), "-1 planes of the input"));
    options.input_planes = {};
    options.output_planes = {8};
    CHECK(contains(refusal({8, 8, 8}), "1 slabs with 8 planes of the result"));
    options.output_planes = {};
    CHECK(contains(refusal({8, 8, 20000}), "length without passes"));
    options.devices = {0, 99};
    CHECK_THROWS_AS(DeviceConvolver({8, 8, 8}, kernel.view(), {}, options), Unavailable);
    options.devices = {0, 0};
    options.max_gpu_bytes = 1 << 20;
    CHECK_THROWS_AS(DeviceConvolver({256, 256, 256}, kernel.view(), {}, options), OutOfMemory);
    options.max_gpu_bytes.reset();

    const DeviceConvolver convolver({8, 8, 8}, kernel.view(), {}, options);
    const DeviceConvolver one({8, 8, 8}, kernel.view());
    CHECK(one.slabs().size() == 1);
    CHECK(one.slabs()[0].input_planes == 8);
    CHECK_THROWS_AS(WorkspaceOf(&convolver), InvalidArgument);
    options.workspace_of = &one;
    CHECK(contains(refusal({8, 8, 8}), "share none"));
    const gpu::DeviceMemory memory(0, 8 * 8 * 8 * 4);
    CHECK_THROWS_AS(convolver.execute(memory.data(), memory.data()), InvalidArgument);
    const std::array<const void*, 2> inputs{memory.data(), nullptr};
    const std::array<void*, 2> outputs{memory.data(), memory.data()};
    CHECK(contains(message_of<InvalidArgument>([&] { convolver.execute(inputs, outputs); }),
                   "input of slab 1"));
}
