// SPDX-License-Identifier: Apache-2.0
#pragma once
// The processors that compute: the choice that a caller makes, and the GPUs of this machine.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/export.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// Rule that decides how many transfers between host and devices run at a time. `global` is the bus
/// lock of Karas and Svoboda, EURASIP J. Adv. Signal Process. 2011:120.
enum class TransferGate {
    automatic,  ///< per_link, or global if a measurement finds that devices share one link
    global,     ///< one transfer at a time over all devices and directions
    per_link,   ///< one task at a time for each device and direction
    off,        ///< no limit: every task transfers as soon as it can
};
/// Returns the name that parse_transfer_gate() takes.
CONVOLUME_API const char* to_string(TransferGate);
/// Parses "auto", "global", "per-link" or "off". Throws InvalidArgument, which lists these, for
/// others.
CONVOLUME_API TransferGate parse_transfer_gate(std::string_view);

/// Library that computes Fourier transforms on the CPU.
enum class FftLibrary {
    automatic,  ///< for each transform the library that was measured to be faster
    own,        ///< convolume's own transforms, which need no planning
    fftw,       ///< FFTW; Unavailable is thrown by builds without it
};
/// Returns the name that parse_fft_library() takes.
CONVOLUME_API const char* to_string(FftLibrary);
/// Parses "auto", "own" or "fftw". Throws InvalidArgument, which lists these, for others.
CONVOLUME_API FftLibrary parse_fft_library(std::string_view);
/// Returns one sentence on the libraries of transforms in this build and on what
/// FftLibrary::automatic takes.
CONVOLUME_API std::string describe_fft_libraries();

/// The processors that compute, their number of threads, and their memory limits. All objects of
/// the process share the CPU threads. If CPU engines use FFTW, its planner is locked for the whole
/// process, so that callers may plan with FFTW in other threads at the same time.
/// @code{.cpp}
/// EngineChoice engines;
/// set_devices(engines, "cpu");
/// engines.threads = 4;
/// Volume kernel({3, 3, 3}, PixelType::float32);
/// std::fill_n(kernel.elements<float>(), 27, 1 / 27.0F);
/// const Convolver blur({64, 256, 256}, kernel.view(), {}, engines);
/// @endcode
struct EngineChoice {
    /// Kind of processor.
    enum class Device {
        automatic,  ///< CPU or GPUs: the plan takes those that it predicts to be faster
        cpu,        ///< the CPU alone
        gpu         ///< GPUs alone; Unavailable is thrown if there is none
    };
    Device device = Device::automatic;
    std::vector<int> gpus;  ///< CUDA device numbers; empty: all usable GPUs
    int cpu_engines = 1;    ///< number of CPU engines, which share the threads; 3D images only
    /// Number of threads of all CPU engines together. 0 means the number in the environment
    /// variable OMP_NUM_THREADS, or else one for each processor that this process may use.
    int threads = 0;
    /// Bytes of host memory that each CPU engine may take. If not given, only the limit of the host
    /// holds.
    std::optional<index_t> max_cpu_engine_bytes;
    /// Bytes of device memory to use on each GPU. If not given, most of its free memory.
    std::optional<index_t> max_gpu_bytes;
    /// Library of transforms on the CPU.
    FftLibrary fft = FftLibrary::automatic;
    /// Rule for transfers between host and GPUs; 3D images only.
    TransferGate transfer_gate = TransferGate::automatic;
    /// Predictions use the rates that calibrate() has measured on this machine (calibration.hpp),
    /// if it was called. False: they use the built-in rates. 3D images only.
    bool calibrated = true;
};
/// Returns the name that parse_device() takes.
CONVOLUME_API const char* to_string(EngineChoice::Device);
/// Parses "auto", "cpu" or "gpu". Throws InvalidArgument, which lists these, for others.
CONVOLUME_API EngineChoice::Device parse_device(std::string_view);
/// Sets `device` and `gpus` of `engines` to the devices that a text names: "auto", "cpu", "gpu"
/// (all GPUs), "gpu:1", or several GPUs, "gpu:0,1" or "gpu:0+1". Throws InvalidArgument for other
/// texts, and if a GPU is named twice.
CONVOLUME_API void set_devices(EngineChoice& engines, std::string_view text);

/// Resources of the host that this process may use.
struct HostResources {
    std::string processor;        ///< the system's name of the processor
    int threads = 0;              ///< number of threads that EngineChoice::threads = 0 stands for
    index_t available_bytes = 0;  ///< bytes of memory that may still be taken
    /// Source of the memory limit: the system, a limit of the process (RLIMIT_AS, RLIMIT_DATA), or
    /// a limit of a control group.
    std::string memory_limited_by;
    std::string thread_backend;  ///< what runs the threads of this build: "pool" or "openmp"
};
/// Returns the resources of the host that this process may use now.
/// @code{.cpp}
/// const HostResources host = host_resources();
/// std::cout << host.threads << " threads, " << format_bytes(host.available_bytes) << '\n';
/// @endcode
CONVOLUME_API HostResources host_resources();

/// Returns `chosen`, a caller's limit in bytes such as Options::max_host_bytes. If it is not given,
/// returns the default of all such limits: three quarters of the memory that may still be taken.
CONVOLUME_API index_t host_limit_bytes(const std::optional<index_t>& chosen);

/// Returns one sentence on why this machine or build has no GPU engines. It is empty if there are
/// some.
CONVOLUME_API std::string gpu_unavailable();

/// Returns the predicted seconds until this process can use a GPU. They are 0 if it already uses
/// one, or never can.
CONVOLUME_API double gpu_start_seconds();

/// Starts the GPUs of a choice, so that engines are made faster later: for another thread, while
/// files are read. Does nothing if there are none, or if they run. Errors appear at the first use.
/// @code{.cpp}
/// const EngineChoice engines;
/// start_gpus(engines);
/// assert(gpu_start_seconds() == 0);
/// @endcode
CONVOLUME_API void start_gpus(const EngineChoice& engines) noexcept;

/// A GPU of this machine, as `convolume doctor` reports it.
struct GpuDevice {
    int number = 0;  ///< CUDA's device number
    std::string name;
    int compute_major = 0, compute_minor = 0;
    bool usable = false;       ///< whether this build can compute on it
    std::string why_unusable;  ///< sentence that says why not; empty if it is usable
    index_t memory_bytes = 0;
    index_t free_bytes = 0;
    std::string bus_id;      ///< PCI address
    std::vector<int> peers;  ///< numbers of devices whose memory it can access directly
};
/// Returns the GPUs of this machine, usable or not. It never throws.
/// @code{.cpp}
/// for (const GpuDevice& gpu : gpu_devices())
///     if (gpu.usable) std::cout << gpu.name << ": " << format_bytes(gpu.free_bytes) << " free\n";
/// @endcode
CONVOLUME_API std::vector<GpuDevice> gpu_devices();
/// Returns the newest version of CUDA that the driver supports, such as "13.0". It is empty if
/// unknown.
CONVOLUME_API std::string cuda_driver_version();
/// Returns the version of the CUDA runtime, such as "13.0". It is empty if unknown.
CONVOLUME_API std::string cuda_runtime_version();

/// Rates of copies, in bytes a second, between page-locked host memory and a device, and within the
/// device.
struct GpuBandwidth {
    double host_to_device = 0;
    double device_to_host = 0;
    double both = 0;    ///< sum of the rates of both directions at once
    double device = 0;  ///< rate of a copy within the device: bytes read plus bytes written
};
/// Measures the rates of one GPU, by its CUDA device number. Throws Unavailable or OutOfMemory.
/// @code{.cpp}
/// for (const GpuDevice& gpu : gpu_devices())
///     if (gpu.usable)
///         std::cout << measure_gpu_bandwidth(gpu.number).host_to_device / 1e9 << " GB/s\n";
/// @endcode
CONVOLUME_API GpuBandwidth measure_gpu_bandwidth(int device);
/// Measures uploads to all `devices` at once. Returns the sum of their rates, in bytes a second.
CONVOLUME_API double measure_concurrent_upload(const std::vector<int>& devices);

/// The gate that TransferGate::automatic stands for on some GPUs, and the measured rates of uploads
/// that decide it, in bytes a second. The rates are 0 for a single GPU, for which nothing is
/// measured.
struct TransferGateChoice {
    TransferGate gate = TransferGate::per_link;
    double one_upload = 0;   ///< rate of uploads to the first GPU alone
    double all_uploads = 0;  ///< sum of the rates of uploads to all GPUs at once
};
/// Measures uploads to `devices`, CUDA device numbers, and returns the transfer gate for these
/// GPUs.
CONVOLUME_API TransferGateChoice choose_transfer_gate(const std::vector<int>& devices);

}  // namespace convolume
