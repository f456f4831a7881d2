// SPDX-License-Identifier: Apache-2.0
// Tests that the cache of plans gives GPU memory back when other objects need it, and that results
// in device memory are the same with kernels that were prepared on the host and on the device.

#include <cuda_runtime_api.h>

#include <cstring>

#include "convolume/cache.hpp"
#include "convolume/device.hpp"
#include "convolume/error.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

Volume random_volume(std::uint64_t sequence, const Shape3& shape) {
    Random random(20240229, sequence);
    Volume volume(shape, PixelType::float32);
    for (index_t i = 0; i < element_count(shape); ++i)
        volume.elements<float>()[i] = static_cast<float>(random.uniform());
    return volume;
}

Volume from_device(const gpu::DeviceMemory& memory, const Shape3& shape) {
    Volume volume(shape, PixelType::float32);
    REQUIRE(cudaMemcpy(volume.view().data, memory.data(), static_cast<std::size_t>(volume.bytes()),
                       cudaMemcpyDeviceToHost) == cudaSuccess);
    return volume;
}

bool are_equal(const Volume& a, const Volume& b) {
    return a.shape() == b.shape() &&
           std::memcmp(a.view().data, b.view().data, static_cast<std::size_t>(a.bytes())) == 0;
}

}  // namespace

TEST_CASE("the cache of plans gives GPU memory back when an allocation needs it", "[gpu]") {
    NEEDS_GPU();
    const PlanCacheLimits before = plan_cache_info().limits;
    clear_plan_cache();
    limit_plan_cache(index_t{1} << 40, index_t{1} << 40);
    const Volume kernel = random_volume(0, {16, 16, 16});
    cached_device_convolver({256, 512, 512}, kernel.view());
    const index_t kept = plan_cache_info().gpu_bytes;
    REQUIRE(kept > index_t{256} << 20);
    {
        const index_t free = gpu::free_device_bytes(0);
        CHECK(gpu::available_device_bytes(0) > free);
        const gpu::DeviceMemory memory(0, free + kept / 2);
        CHECK(plan_cache_info().gpu_bytes == 0);
    }
    limit_plan_cache(before.host_bytes, before.gpu_bytes);
}

TEST_CASE("kernels prepared on the device and on the host give the same result", "[gpu]") {
    NEEDS_GPU();
    const Shape3 shape{24, 60, 70}, taps{5, 8, 7};
    const Volume image = random_volume(1, shape);
    const gpu::DeviceMemory input = on_device(image);
    const gpu::DeviceMemory output(0, image.bytes());
    for (const Operation operation : {Operation::convolve, Operation::correlate})
        for (const BoundaryKind boundary : {BoundaryKind::zero, BoundaryKind::wrap}) {
            Options options;
            options.operation = operation;
            options.boundary.kind = boundary;
            DeviceOptions device;
            device.kernel_on_device = true;
            ConstImageView form{nullptr, PixelType::float32, taps, contiguous_strides(taps)};
            const auto shared = cached_device_convolver(shape, form, options, device);
            for (std::uint64_t number = 0; number < 3; ++number) {
                const Volume kernel = random_volume(10 + number, taps);
                const gpu::DeviceMemory there = on_device(kernel);
                shared->execute_with_kernel(input.data(), there.data(), output.data());
                REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
                const Volume found = from_device(output, shape);
                const DeviceConvolver planned(shape, kernel.view(), options);
                planned.execute(input.data(), output.data());
                REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
                CHECK(are_equal(found, from_device(output, shape)));
            }
        }
    clear_plan_cache();
}

TEST_CASE("a kernel in device memory allows no option that needs its samples", "[gpu]") {
    NEEDS_GPU();
    DeviceOptions device;
    device.kernel_on_device = true;
    const Shape3 taps{1, 3, 3};
    const ConstImageView form{nullptr, PixelType::float32, taps, contiguous_strides(taps)};
    Options options;
    options.normalization = KernelNormalization::sum;
    CHECK_THROWS_AS(DeviceConvolver({1, 16, 16}, form, options, device), InvalidArgument);
    options = {};
    options.center.kind = KernelCenter::Kind::peak;
    CHECK_THROWS_AS(DeviceConvolver({1, 16, 16}, form, options, device), InvalidArgument);
    const DeviceConvolver planned({1, 16, 16}, form, {}, device);
    const gpu::DeviceMemory image(0, 4096);
    CHECK_THROWS_AS(planned.execute(image.data(), image.data()), InvalidArgument);
}
