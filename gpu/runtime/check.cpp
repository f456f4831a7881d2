// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/check.hpp"

#include "convolume/error.hpp"

namespace convolume::gpu {

void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());  // clears the error; a persistent error occurs again
    switch (status) {
        case cudaErrorMemoryAllocation:
            throw OutOfMemory(message("the GPU has no memory left for ", what,
                                      ": close other programs on it, or lower its memory limit"),
                              MemoryKind::gpu);
        case cudaErrorNoKernelImageForDevice:
        case cudaErrorUnsupportedPtxVersion:
        case cudaErrorJitCompilerNotFound:
        case cudaErrorInsufficientDriver:
            throw GpuUnavailable(message("the GPU's driver has no use for the code of this build (",
                                         cudaGetErrorString(status),
                                         "): update the driver, build with the architecture of "
                                         "this GPU in CMAKE_CUDA_ARCHITECTURES, or use the CPU"));
        case cudaErrorInvalidValue:
        case cudaErrorInvalidConfiguration:
        case cudaErrorLaunchOutOfResources:
            throw InternalError(
                message("CUDA refused ", what, " with \"", cudaGetErrorString(status), "\""));
        default:
            throw DeviceFailure(message("the GPU failed while ", what, ": ",
                                        cudaGetErrorString(status), "; run again, or use the CPU"));
    }
}

}  // namespace convolume::gpu
