// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the CUDA part offers the rest of the library, which reaches it through this table alone.
// Nothing refers to the CUDA part by name but convolume::cuda, the CMake target: a static program
// that does not link it computes on the CPU and carries neither kernels nor the CUDA runtime.

#include <optional>
#include <string>
#include <vector>

#include "convolume/engines.hpp"
#include "core/device_program.hpp"
#include "core/engine.hpp"
#include "core/filter_engine.hpp"

namespace convolume {

struct GpuOptions {
    std::vector<int> devices;                   ///< CUDA numbers; empty: all usable ones
    std::optional<index_t> memory_limit_bytes;  ///< of each; nothing: most of what is free
    TransferGate transfer_gate = TransferGate::automatic;
    int host_threads = 0;  ///< that copy ordinary memory to and from staging; 0: thread_count(0)
    int first_index = 0;   ///< EngineInfo::index of the first
    MachineRates rates;    ///< EngineInfo::rates
};

struct GpuBackend {
    /// One engine for each device. Throws Unavailable, with the sentence of `unavailable`, when
    /// there is no usable device; InvalidArgument for device numbers that do not exist.
    EngineList (*make_engines)(const GpuOptions& options);
    /// The same; `transfer_gate` is not used.
    FilterEngineList (*make_filter_engines)(const GpuOptions& options);
    /// Throws Unavailable (no such device), OutOfMemory, DeviceFailure.
    std::unique_ptr<DeviceProgram> (*make_device_program)(const DeviceProgramSpec& spec);
    /// For runs of up to `signals` signals and `outputs` results of each; `taps` are in host
    /// memory. Throws Unavailable (no such device, or no way to do the work), OutOfMemory,
    /// DeviceFailure.
    std::unique_ptr<DeviceFilterProgram> (*make_device_filter_program)(
        int device, const FilterWork& work, const void* taps, index_t signals, index_t outputs);
    /// The grid length of at least `least` along `axis` (0 is z) that a device's FFT is fastest at.
    index_t (*good_device_length)(int device, int axis, index_t least, bool complex_data,
                                  Precision precision);
    bool (*started)();  ///< this process has begun to use a GPU, or has found none
    // As in convolume/engines.hpp
    std::string (*unavailable)();
    std::vector<GpuDevice> (*devices)();
    std::string (*driver_version)();
    std::string (*runtime_version)();
    GpuBandwidth (*measure_bandwidth)(int device);
    double (*measure_concurrent_upload)(const std::vector<int>& devices);
    TransferGateChoice (*choose_transfer_gate)(const std::vector<int>& devices);
};

/// Null in a build without CUDA, and in a program that was linked without the CUDA part.
const GpuBackend* gpu_backend() noexcept;

/// Throws Unavailable, saying which of the two it is.
const GpuBackend& require_gpu_backend();

}  // namespace convolume

/// The CUDA part's table. The linker is told to find this name (see
/// cmake/ConvolumeLibraries.cmake).
extern "C" const convolume::GpuBackend convolume_cuda_backend;
