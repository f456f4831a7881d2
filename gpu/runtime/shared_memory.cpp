// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/shared_memory.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "gpu/runtime/check.hpp"

namespace convolume::gpu {

void allow_shared_bytes(const void* cuda_kernel, index_t bytes, const char* what) {
    static std::mutex mutex;
    static std::map<std::pair<int, const void*>, index_t> allowed;  // by device
    int device = 0;
    check(cudaGetDevice(&device), "asking for the current device");
    const std::lock_guard lock(mutex);
    index_t& most = allowed[{device, cuda_kernel}];
    if (bytes <= most) return;
    check(cudaFuncSetAttribute(cuda_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(bytes)),
          what);
    most = bytes;
}

}  // namespace convolume::gpu
