// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table of functions through which the library reaches the CUDA part. Apart from this table,
// only the CMake target convolume::cuda names the CUDA part. A static program that does not link
// that target computes on the CPU and contains neither CUDA kernels nor the CUDA runtime.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "convolume/engines.hpp"
#include "core/channel_spec.hpp"
#include "core/engine.hpp"
#include "core/filter_engine.hpp"
#include "core/pair_axis.hpp"
#include "core/resample_spec.hpp"

namespace convolume {

/// Memory on one device that several convolutions use in turns.
class DeviceWorkspace {
  public:
    virtual ~DeviceWorkspace() = default;
    virtual int device() const = 0;
};

/// Throws InvalidArgument if `workspace`, which may be null, is on another device.
void require_on_device(const DeviceWorkspace* workspace, int device);

/// A kernel whose samples are in device memory and come with each run: contiguous, in C order.
struct RunKernel {
    Shape3 shape;
    PixelType type = PixelType::float32;
    bool flip = false;  ///< along all axes
    Index3 begin{};     ///< sample of the kernel, flipped if so requested, that is the first tap
};

struct DeviceProgramSpec {
    int device = 0;
    /// Block to convolve. Its source and target types are the types of the images.
    Block block;
    /// Storage of the image and of the result. If not plain, the block's type of it is uint16.
    SampleStorage source_storage = SampleStorage::plain, target_storage = SampleStorage::plain;
    ConstImageView taps;  ///< kernel, as in Engine::prepare; may be freed after the call
    std::optional<RunKernel> run_kernel;         ///< if given, `taps` has a shape but no data
    Index3 kernel_shift{};                       ///< tap i is at grid position (i - shift) mod grid
    Shape3 source;                               ///< shape of the input: contiguous, in C order
    std::array<std::vector<index_t>, 3> gather;  ///< source indices, as in BlockInput
    double subtract = 0;
    std::complex<double> add = 0;
    bool nonfinite_to_zero = false;
    /// The result is the kept block, contiguous. If fold_sources is not empty, the result is that
    /// block folded:
    ///     target(k) = Σ of all positions i with fold_sources[axis][i] = k on every axis
    std::array<std::vector<index_t>, 3> fold_sources;
    Shape3 folded;
    PixelType folded_type = PixelType::float32;
    /// The kernel's whole spectrum may be kept, which takes as much memory as the block itself.
    bool keep_spectrum = true;
    index_t memory_limit_bytes = 0;  ///< limit of device memory; 0: no limit
    /// A workspace on the same device to share; null: the program makes its own.
    std::shared_ptr<DeviceWorkspace> workspace;
};

/// A convolution prepared for data in device memory.
class DeviceProgram {
  public:
    virtual ~DeviceProgram() = default;

    /// Enqueues the convolution of `images` images, one after the other in memory, on the CUDA
    /// stream and returns. `input` and `output` are in device memory and may be equal. `kernel` has
    /// the samples of DeviceProgramSpec::run_kernel, and is null without one. Calls must follow
    /// each other on the device, because they share a workspace.
    virtual void run(const void* input, void* output, void* stream, const void* kernel,
                     index_t images) = 0;
    /// Returns the bytes of device memory held, apart from the caller's images and the initial
    /// size of a shared workspace.
    virtual index_t bytes() const = 0;
    virtual std::shared_ptr<DeviceWorkspace> workspace() const = 0;
};

/// Planes of the image and of the result that are in the memory of one of several devices.
struct ProgramSlab {
    int device = 0;
    IndexRange input, output;
};

/// One slab's data in an execution. Arrays of no planes may be null.
struct SlabData {
    const void* input = nullptr;
    void* output = nullptr;
    void* stream = nullptr;  ///< CUDA stream of the slab's device
};

/// A convolution prepared for data in the memory of several devices.
class SpreadProgram {
  public:
    virtual ~SpreadProgram() = default;

    /// Enqueues the convolution on the CUDA streams of all slabs and returns. Each stream ends when
    /// all have ended. `kernel` has the samples of DeviceProgramSpec::run_kernel in the memory of
    /// the first slab's device, and is null without one.
    virtual void run(std::span<const SlabData> slabs, const void* kernel) = 0;
    /// Returns the bytes held on the device of a slab for this slab.
    virtual index_t bytes(std::size_t slab) const = 0;
};

/// A filter bank prepared for signals in device memory.
class DeviceFilterProgram {
  public:
    virtual ~DeviceFilterProgram() = default;
    virtual const FilterCost& cost() const = 0;
    /// Returns the bytes of device memory held, apart from the caller's signals and results.
    virtual index_t bytes() const = 0;
    /// Enqueues the filtering on the CUDA stream and returns; pointers are to device memory. Calls
    /// must follow each other on the device, because they share a workspace.
    virtual void run(const SignalView& signal, const FilterResult& result, void* stream) = 0;
    /// Waits for the CUDA stream. Returns the numbers of results of all runs that were clamped.
    virtual ClampCount clamped(void* stream) = 0;
};

/// A resampling prepared for signals in device memory.
class DeviceResampling {
  public:
    virtual ~DeviceResampling() = default;
    virtual index_t bytes() const = 0;  ///< returns the bytes of device memory held
    /// Enqueues the resampling on the CUDA stream and returns. `samples` and `results` are
    /// contiguous in device memory and have the results' type; `count` results of each signal.
    virtual void run(const void* samples, const SignalShape& shape, void* results, index_t count,
                     void* stream) const = 0;
};

/// A polyphase filter bank for signals in device memory, all of one length.
struct DeviceChannelSpec {
    int device = 0;
    ChannelSpec sizes;
    std::vector<double> taps;  ///< sizes.taps() taps
    /// Type of the signals: that of the computation, or int8 or int16 for pairs of integers.
    PixelType stored = PixelType::complex64;
    index_t signals = 1, samples = 0, frames = 0;

    /// Returns the bytes of a sample of the signals.
    index_t sample_bytes() const {
        return static_cast<index_t>(size_of(stored)) * (is_integer(stored) ? 2 : 1);
    }
};

/// A synthesis from frames in device memory.
struct DeviceSynthesisSpec {
    int device = 0;
    ChannelSpec sizes;
    std::vector<double> taps;  ///< sizes.taps() taps
    index_t signals = 1, frames = 0, samples = 0;
    /// Bytes of frames that are transformed at a time, about. Results do not depend on it. The
    /// default was the fastest on an H100; smaller parts have more launches.
    index_t part_bytes = index_t{128} << 20;
};

/// A polyphase filter bank prepared for signals and frames in device memory.
class DeviceChannelProgram {
  public:
    virtual ~DeviceChannelProgram() = default;
    /// Returns the bytes of device memory held, apart from the caller's signals and frames.
    virtual index_t bytes() const = 0;
    virtual std::string method() const = 0;
    /// Enqueues the work on the CUDA stream and returns. Pointers are to device memory, one to
    /// signals × samples, the other to signals × frames × channels. An analysis reads signals and
    /// writes frames, a synthesis the other way round.
    virtual void run(const void* source, void* target, void* stream) = 0;
};

struct GpuOptions {
    std::vector<int> devices;  ///< CUDA device numbers; empty: all usable devices
    /// Memory limit of each device; absent: most of its free memory.
    std::optional<index_t> memory_limit_bytes;
    TransferGate transfer_gate = TransferGate::automatic;
    /// Threads that copy between ordinary memory and staging buffers; 0: thread_count(0).
    int host_threads = 0;
    int first_index = 0;  ///< EngineInfo::index of the first engine
    MachineRates rates;   ///< value of EngineInfo::rates
};

struct GpuBackend {
    /// Makes one engine for each device. Throws Unavailable with the sentence of `unavailable` if
    /// no device is usable, and InvalidArgument for device numbers that do not exist.
    EngineList (*make_engines)(const GpuOptions& options);
    /// Makes one filter engine for each device and throws like make_engines; ignores
    /// `transfer_gate`.
    FilterEngineList (*make_filter_engines)(const GpuOptions& options);
    /// Makes a convolution of data in device memory. Throws Unavailable (no such device),
    /// OutOfMemory, DeviceFailure.
    std::unique_ptr<DeviceProgram> (*make_device_program)(const DeviceProgramSpec& spec);
    /// Makes a convolution of data in the memory of several devices; a device may have several
    /// slabs. `spec.device` and `spec.workspace` are not used. Throws Unavailable (no such device,
    /// no passes for the sizes, or devices that would have to reach each other's memory and do
    /// not), OutOfMemory, DeviceFailure.
    std::unique_ptr<SpreadProgram> (*make_spread_program)(const DeviceProgramSpec& spec,
                                                          const std::vector<ProgramSlab>& slabs);
    /// Makes a filter bank for up to `signals` signals in device memory and `outputs` results of
    /// each. `taps` are in host memory. Throws Unavailable (no such device, or no suitable method),
    /// OutOfMemory, DeviceFailure.
    std::unique_ptr<DeviceFilterProgram> (*make_device_filter_program)(
        int device, const FilterSpec& spec, const void* taps, index_t signals, index_t outputs);
    /// Makes a resampling of signals in device memory. `taps` are in host memory. Throws
    /// Unavailable (no such device), OutOfMemory, DeviceFailure.
    std::unique_ptr<DeviceResampling> (*make_device_resampling)(int device,
                                                                const ResampleSpec& spec,
                                                                const ConstImageView& taps);
    /// Prepares a polyphase filter bank for data in device memory. Throws Unavailable (no such
    /// device), OutOfMemory, DeviceFailure.
    std::unique_ptr<DeviceChannelProgram> (*make_device_channel_program)(
        const DeviceChannelSpec& spec);
    /// Prepares a synthesis from frames in device memory. Throws as make_device_channel_program.
    std::unique_ptr<DeviceChannelProgram> (*make_device_synthesis_program)(
        const DeviceSynthesisSpec& spec);
    /// Returns the grid length of at least `least` along `axis` (0 is z) at which a device's FFT is
    /// fastest.
    index_t (*good_device_length)(int device, int axis, index_t least, bool complex_data,
                                  Precision precision);
    /// Returns the length of at least `least` along x and y at which a device convolves many small
    /// planes of real float32 samples fastest, or 0 if they are not small.
    index_t (*good_plane_length)(int device, index_t least);
    /// Frees the page-locked memory that is kept for later transfers.
    void (*release_idle_memory)();
    index_t (*memory_bytes)();  ///< returns the memory of the largest usable device, or 0
    bool (*started)();          ///< whether this process has used a GPU, or has found none
    // The CUDA part's implementations of functions in convolume/engines.hpp with similar names.
    std::string (*unavailable)();
    /// Starts devices, or all usable ones if none is named. Throws like make_engines.
    void (*start_devices)(const std::vector<int>& devices);
    std::vector<GpuDevice> (*devices)();
    std::string (*driver_version)();
    std::string (*runtime_version)();
    GpuBandwidth (*measure_bandwidth)(int device);
    double (*measure_concurrent_upload)(const std::vector<int>& devices);
    TransferGateChoice (*choose_transfer_gate)(const std::vector<int>& devices);
};

/// Returns the table; null in a build without CUDA, and in a program that was linked without the
/// CUDA part.
const GpuBackend* gpu_backend() noexcept;

/// One sentence that says why gpu_backend() is null.
extern const char* const why_no_gpu_backend;
/// Returns the table; throws Unavailable with why_no_gpu_backend if there is none.
const GpuBackend& require_gpu_backend();

}  // namespace convolume

/// The table, defined in the CUDA part. The linker is told to find this name
/// (cmake/ConvolumeLibraries.cmake).
extern "C" const convolume::GpuBackend convolume_cuda_backend;
