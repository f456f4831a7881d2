// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the CUDA part offers the rest of the library, which reaches it through this table alone.
// Nothing refers to the CUDA part by name but convolume::cuda, the CMake target: a static program
// that does not link it computes on the CPU and carries neither kernels nor the CUDA runtime.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "convolume/engines.hpp"
#include "convolume/error.hpp"
#include "core/engine.hpp"
#include "core/filter_engine.hpp"

namespace convolume {

/// Memory on one device that its users overwrite in turns.
class DeviceWorkspace {
  public:
    virtual ~DeviceWorkspace() = default;
    virtual int device() const = 0;
};

/// Throws InvalidArgument where a workspace, of which there may be none, is another device's.
void require_on_device(const DeviceWorkspace* workspace, int device);

struct DeviceProgramSpec {
    int device = 0;
    /// Its source and target types are those of the images.
    Block block;
    ConstImageView taps;    ///< as in Engine::prepare; need not outlive the call
    Index3 kernel_shift{};  ///< tap i stands at grid position (i - shift) mod grid
    Shape3 source;          ///< of the input: contiguous, in C order
    std::array<std::vector<index_t>, 3> gather;  ///< as in BlockInput
    double subtract = 0;
    std::complex<double> add = 0;
    bool nonfinite_to_zero = false;
    /// The result is the kept block, contiguous; or, where these are not empty, that block folded:
    /// target(k) sums all positions i with fold_sources[axis][i] = k on every axis.
    std::array<std::vector<index_t>, 3> fold_sources;
    Shape3 folded;
    PixelType folded_type = PixelType::float32;
    /// The kernel's whole spectrum is kept: fastest, for as much memory again as the block's own.
    bool keep_spectrum = true;
    index_t memory_limit_bytes = 0;  ///< 0: none
    /// To share with others, on the same device; null: one of its own.
    std::shared_ptr<DeviceWorkspace> workspace;
};

class DeviceProgram {
  public:
    virtual ~DeviceProgram() = default;

    /// Enqueues the convolution on the CUDA stream and returns; `input` and `output` are device
    /// memory and may be the same. Calls must follow each other on the device: they share a
    /// workspace.
    virtual void run(const void* input, void* output, void* stream) = 0;
    /// Device memory held, beside the caller's images and what a shared workspace had.
    virtual index_t bytes() const = 0;
    virtual std::shared_ptr<DeviceWorkspace> workspace() const = 0;
    virtual bool keeps_spectrum() const = 0;
};

class DeviceFilterProgram {
  public:
    virtual ~DeviceFilterProgram() = default;
    virtual const FilterCost& cost() const = 0;
    /// Device memory held, beside the caller's.
    virtual index_t bytes() const = 0;
    /// Enqueues the work on the CUDA stream and returns; pointers are to device memory. Calls must
    /// follow each other on the device: they share a workspace.
    virtual void run(const SignalView& signal, const FilterResult& result, void* stream) = 0;
};

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

/// One sentence on which of the two it is.
extern const char* const why_no_gpu_backend;
/// Throws Unavailable with that sentence.
const GpuBackend& require_gpu_backend();

}  // namespace convolume

/// The CUDA part's table. The linker is told to find this name (see
/// cmake/ConvolumeLibraries.cmake).
extern "C" const convolume::GpuBackend convolume_cuda_backend;
