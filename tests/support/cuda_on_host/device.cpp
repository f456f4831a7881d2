// SPDX-License-Identifier: Apache-2.0
// Devices of a CUDA runtime without a GPU: their memory is the host's, and begins as NaN.

#include "gpu/runtime/device.hpp"

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device_memory.hpp"

namespace convolume::gpu {

void check(cudaError_t status, const char* what) {
    if (status != 0) throw std::runtime_error(what);
}
DeviceScope::DeviceScope(int device) {
    previous_ = device;
}
DeviceScope::~DeviceScope() = default;

DeviceMemory::DeviceMemory(int, index_t bytes, const char*)
    : data_(std::malloc(static_cast<std::size_t>(bytes) + 1), CountingDeleter{bytes}) {
    std::memset(data(), 0xff, static_cast<std::size_t>(bytes));  // NaN
    cuda_on_host::Machine::one().add_memory(data(), static_cast<std::size_t>(bytes));
}
void DeviceMemory::CountingDeleter::operator()(void* data) const {
    cuda_on_host::Machine::one().remove_memory(data);
    std::free(data);
}
void DeviceMemory::clear() const {
    if (data_) std::memset(data(), 0, static_cast<std::size_t>(bytes()));
}

}  // namespace convolume::gpu
