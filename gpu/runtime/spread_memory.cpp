// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/spread_memory.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>

#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/fault.hpp"
#include "gpu/runtime/stream.hpp"

namespace convolume::gpu {

namespace {

void advise(char* data, index_t bytes, cudaMemoryAdvise advice, int device) {
#if CUDART_VERSION >= 13000
    const cudaMemLocation place{cudaMemLocationTypeDevice, device};
#else
    const int place = device;
#endif
    check(cudaMemAdvise(data, static_cast<std::size_t>(bytes), advice, place),
          "placing memory on several GPUs");
}

void move_to(int device, char* data, index_t bytes, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
    const cudaMemLocation place{cudaMemLocationTypeDevice, device};
    check(cudaMemPrefetchAsync(data, static_cast<std::size_t>(bytes), place, 0, stream),
          "placing memory on several GPUs");
#else
    check(cudaMemPrefetchAsync(data, static_cast<std::size_t>(bytes), device, stream),
          "placing memory on several GPUs");
#endif
}

}  // namespace

bool SpreadMemory::possible(const std::vector<int>& devices) {
    return std::all_of(devices.begin(), devices.end(), [](int device) {
        int concurrent = 0;
        check(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, device),
              "asking what a GPU can do");
        return concurrent != 0;
    });
}

SpreadMemory::SpreadMemory(const std::vector<Part>& parts, const char* purpose) {
    index_t bytes = 0;
    for (const Part& part : parts) bytes = checked_add(bytes, part.bytes);
    if (bytes == 0) return;
    void* data = nullptr;
    check(fault_due(Fault::allocation)
              ? cudaErrorMemoryAllocation
              : cudaMallocManaged(&data, static_cast<std::size_t>(bytes), cudaMemAttachGlobal),
          purpose);
    data_ = data;
    char* at = as<char>();
    for (const Part& part : parts) {
        if (part.bytes == 0) continue;
        advise(at, part.bytes, cudaMemAdviseSetPreferredLocation, part.device);
        for (const Part& other : parts)
            advise(at, part.bytes, cudaMemAdviseSetAccessedBy, other.device);
        const DeviceScope scope(part.device);
        const Stream stream;
        move_to(part.device, at, part.bytes, stream);
        stream.wait();
        at += part.bytes;
    }
}

SpreadMemory::~SpreadMemory() {
    if (data_) static_cast<void>(cudaFree(data_));  // a lost device has nothing to free
}

SpreadMemory::SpreadMemory(SpreadMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)) {}

SpreadMemory& SpreadMemory::operator=(SpreadMemory&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
}

}  // namespace convolume::gpu
