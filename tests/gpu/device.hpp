// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers for tests that need a GPU: an engine, transfers, and macros that skip a test case.

#include <cuda_runtime_api.h>

#include <cstdlib>

#include "convolume/volume.hpp"
#include "gpu/backend.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/fault.hpp"
#include "tests/catch.hpp"

namespace convolume::testing {

/// Returns `usual`, or CONVOLUME_TEST_CASES if it is set: tools that slow a GPU down set less.
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

/// Copies to a device and waits. cudaMemcpy may return while pageable memory is still being copied,
/// and non-blocking CUDA streams do not wait for such copies.
inline void copy_to_device(void* target, const void* source, index_t bytes) {
    gpu::check(cudaMemcpy(target, source, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice),
               "copying to the GPU");
    gpu::check(cudaDeviceSynchronize(), "copying to the GPU");
}

/// Copies a volume's samples to memory of device 0.
inline gpu::DeviceMemory on_device(const Volume& volume) {
    gpu::DeviceMemory memory(0, volume.bytes());
    copy_to_device(memory.data(), volume.view().data, volume.bytes());
    return memory;
}

/// Waits for the device, and returns a copy of its memory.
inline Volume fetched(const gpu::DeviceMemory& memory, const Shape3& shape, PixelType type) {
    Volume volume(shape, type);
    gpu::check(cudaDeviceSynchronize(), "working on the GPU");
    gpu::check(cudaMemcpy(volume.view().data, memory.data(),
                          static_cast<std::size_t>(volume.bytes()), cudaMemcpyDeviceToHost),
               "copying from the GPU");
    return volume;
}

}  // namespace convolume::testing

// Skips a test case, which has the tag [gpu], if there is no device.
#define NEEDS_GPU()                                                                       \
    if (const std::string why_no_gpu = convolume::gpu_unavailable(); !why_no_gpu.empty()) \
    SKIP(why_no_gpu)

// Skips a test case in builds in which the GPU's calls cannot be made to fail.
#define NEEDS_FAULT_INJECTION() \
    if (!convolume::gpu::has_fault_injection) SKIP("built without CONVOLUME_FAULT_INJECTION")
