// SPDX-License-Identifier: Apache-2.0
#include "convolume/error.hpp"
#include "gpu/runtime/check.hpp"
#include "tests/catch.hpp"

using namespace convolume;

TEST_CASE("code that the driver does not take is no failure of the GPU") {
    for (const cudaError_t status :
         {cudaErrorNoKernelImageForDevice, cudaErrorUnsupportedPtxVersion,
          cudaErrorJitCompilerNotFound, cudaErrorInsufficientDriver})
        CHECK_THROWS_AS(gpu::check(status, "starting a CUDA kernel"), GpuUnavailable);
    CHECK_THROWS_AS(gpu::check(cudaErrorLaunchFailure, "starting a CUDA kernel"), DeviceFailure);
    CHECK_NOTHROW(gpu::check(cudaSuccess, "starting a CUDA kernel"));
}
