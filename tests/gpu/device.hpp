// SPDX-License-Identifier: Apache-2.0
#pragma once
// What tests of the GPU engine need: an engine, or the reason why there is none.

#include <cuda_runtime_api.h>

#include <cstdlib>

#include "convolume/volume.hpp"
#include "gpu/backend.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/fault.hpp"
#include "tests/catch.hpp"

namespace convolume::testing {

/// `usual`, or what CONVOLUME_TEST_CASES says: tools that slow a device down take fewer.
inline std::uint64_t case_count(std::uint64_t usual) {
    const char* given = std::getenv("CONVOLUME_TEST_CASES");
    return given ? std::strtoull(given, nullptr, 10) : usual;
}

inline std::shared_ptr<Engine> gpu_engine(std::optional<index_t> limit_bytes = {}) {
    GpuOptions options;
    options.devices = {0};
    options.memory_limit_bytes = limit_bytes;
    return gpu::make_engines(options).front();
}

/// Copies to a device. cudaMemcpy may return while samples of ordinary memory are still on their
/// way, and streams that do not block would not wait for them.
inline void copy_to_device(void* target, const void* source, index_t bytes) {
    gpu::check(cudaMemcpy(target, source, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice),
               "copying to the GPU");
    gpu::check(cudaDeviceSynchronize(), "copying to the GPU");
}

/// A volume's samples in memory of device 0.
inline gpu::DeviceMemory on_device(const Volume& volume) {
    gpu::DeviceMemory memory(0, volume.bytes());
    copy_to_device(memory.data(), volume.view().data, volume.bytes());
    return memory;
}

/// What is there, once the device has come to rest.
inline Volume fetched(const gpu::DeviceMemory& memory, const Shape3& shape, PixelType type) {
    Volume volume(shape, type);
    gpu::check(cudaDeviceSynchronize(), "working on the GPU");
    gpu::check(cudaMemcpy(volume.view().data, memory.data(),
                          static_cast<std::size_t>(volume.bytes()), cudaMemcpyDeviceToHost),
               "copying from the GPU");
    return volume;
}

}  // namespace convolume::testing

// Skips a test case, which has the tag [gpu], where there is no device.
#define NEEDS_GPU()                                                                       \
    if (const std::string why_no_gpu = convolume::gpu_unavailable(); !why_no_gpu.empty()) \
    SKIP(why_no_gpu)

// The same where the GPU's calls cannot be made to fail.
#define NEEDS_FAULT_INJECTION() \
    if (!convolume::gpu::has_fault_injection) SKIP("built without CONVOLUME_FAULT_INJECTION")
