// SPDX-License-Identifier: Apache-2.0
#include "core/gpu_backend.hpp"

#if CONVOLUME_HAVE_CUDA
// A weak reference: null if the linker left the CUDA part out.
extern "C" [[gnu::weak]] const convolume::GpuBackend convolume_cuda_backend;
#endif

namespace convolume {

#if CONVOLUME_HAVE_CUDA
const char* const why_no_gpu_backend =
    "this program was linked without the CUDA part of convolume: link the CMake target "
    "convolume::cuda, or use the CPU";
#else
const char* const why_no_gpu_backend = "built without CUDA: use the CPU";
#endif

const GpuBackend* gpu_backend() noexcept {
#if CONVOLUME_HAVE_CUDA
    return &convolume_cuda_backend;
#else
    return nullptr;
#endif
}

const GpuBackend& require_gpu_backend() {
    if (const GpuBackend* const backend = gpu_backend()) return *backend;
    throw GpuUnavailable(why_no_gpu_backend);
}

void require_on_device(const DeviceWorkspace* workspace, int device) {
    if (workspace && workspace->device() != device)
        throw InvalidArgument(message("what works on GPU ", device,
                                      " cannot use a workspace on GPU ", workspace->device(),
                                      ": make both on one GPU"));
}

}  // namespace convolume
