// SPDX-License-Identifier: Apache-2.0
// GPUs, as far as a program has the CUDA part.

#include "convolume/error.hpp"
#include "core/gpu_backend.hpp"
#include "core/machine_rates.hpp"

#if CONVOLUME_HAVE_CUDA
// Weak: null where the linker has left the CUDA part out.
extern "C" [[gnu::weak]] const convolume::GpuBackend convolume_cuda_backend;
#endif

namespace convolume {

namespace {

#if CONVOLUME_HAVE_CUDA
constexpr const char* absent =
    "this program was linked without the CUDA part of convolume: link the CMake target "
    "convolume::cuda, or use the CPU";
#else
constexpr const char* absent = "built without CUDA: use the CPU";
#endif

}  // namespace

const GpuBackend* gpu_backend() noexcept {
#if CONVOLUME_HAVE_CUDA
    return &convolume_cuda_backend;
#else
    return nullptr;
#endif
}

const GpuBackend& require_gpu_backend() {
    if (const GpuBackend* const backend = gpu_backend()) return *backend;
    throw GpuUnavailable(absent);
}

std::string gpu_unavailable() {
    const GpuBackend* const backend = gpu_backend();
    return backend ? backend->unavailable() : absent;
}

double gpu_start_seconds() {
    const GpuBackend* const backend = gpu_backend();
    return backend && !backend->started() ? machine_rates().gpu_start_s : 0;
}

std::vector<GpuDevice> gpu_devices() {
    const GpuBackend* const backend = gpu_backend();
    return backend ? backend->devices() : std::vector<GpuDevice>();
}

std::string cuda_driver_version() {
    const GpuBackend* const backend = gpu_backend();
    return backend ? backend->driver_version() : std::string();
}

std::string cuda_runtime_version() {
    const GpuBackend* const backend = gpu_backend();
    return backend ? backend->runtime_version() : std::string();
}

GpuBandwidth measure_gpu_bandwidth(int device) {
    return require_gpu_backend().measure_bandwidth(device);
}

double measure_concurrent_upload(const std::vector<int>& devices) {
    return require_gpu_backend().measure_concurrent_upload(devices);
}

}  // namespace convolume
