// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which processors compute: the choice a caller makes, and the GPUs this machine has.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/export.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// How many transfers between host and devices run at a time. Karas and Svoboda's bus lock (EURASIP
/// J. Adv. Signal Process. 2011:120) is `global`.
enum class TransferGate {
    automatic,  ///< per_link, or global where a measurement finds that devices share one link
    global,     ///< one transfer at a time over all devices and directions
    per_link,   ///< one task at a time for each device and direction
    off,        ///< as many as there are tasks
};
CONVOLUME_API const char* to_string(TransferGate);
/// "auto", "global", "per-link", "off"; throws InvalidArgument that lists them.
CONVOLUME_API TransferGate parse_transfer_gate(std::string_view);

/// Which processors compute, with how many threads and how much memory. CPU threads are shared by
/// all objects of the process. FFTW, which CPU engines use, has one planner for the process: it is
/// locked, so that callers may plan with FFTW in other threads at the same time.
struct EngineChoice {
    enum class Device {
        automatic,  ///< CPU and GPUs: the plan takes whichever it predicts to be faster
        cpu,
        gpu  ///< Unavailable is thrown where there is none
    };
    Device device = Device::automatic;
    std::vector<int> gpus;  ///< CUDA device numbers; empty: all usable ones
    int cpu_engines = 1;    ///< several stand in for several small GPUs; 3D images only
    /// Of all CPU engines together. 0: the number in the environment variable OMP_NUM_THREADS, or
    /// else one for each processor that this process may run on.
    int threads = 0;
    std::optional<index_t> max_cpu_engine_bytes;  ///< of each CPU engine; nothing: no own limit
    std::optional<index_t> max_gpu_bytes;         ///< of each GPU; nothing: most of what is free
    TransferGate transfer_gate = TransferGate::automatic;  ///< 3D images only
    /// Predictions use what calibrate() has measured on this machine (calibration.hpp), where it
    /// was called; false: what is built in. 3D images only.
    bool calibrated = true;
};
CONVOLUME_API const char* to_string(EngineChoice::Device);
CONVOLUME_API EngineChoice::Device parse_device(std::string_view);  ///< "auto", "cpu", "gpu"
/// Sets `device` and `gpus` of `engines` to what a text names: "auto", "cpu", "gpu" (all GPUs),
/// "gpu:1", or several GPUs, "gpu:0,1" or "gpu:0+1". Throws InvalidArgument for all others, also if
/// a GPU is named twice.
CONVOLUME_API void set_devices(EngineChoice& engines, std::string_view text);

/// What this process may use of the host.
struct HostResources {
    std::string processor;          ///< as the system names it
    int threads = 0;                ///< that EngineChoice::threads = 0 stands for
    index_t available_bytes = 0;    ///< memory that may still be taken
    std::string memory_limited_by;  ///< what sets that limit: the system, a limit of the process
                                    ///< (RLIMIT_AS, RLIMIT_DATA), or of a control group
};
CONVOLUME_API HostResources host_resources();

/// A limit on the memory of the host as a caller has chosen it (Options::max_host_bytes and others
/// like it), or the default of them all: three quarters of the memory that may still be taken.
CONVOLUME_API index_t host_limit_bytes(const std::optional<index_t>& chosen);

/// One sentence on why there are no GPU engines here; empty when there are.
CONVOLUME_API std::string gpu_unavailable();

/// Seconds until this process could use a GPU: 0 where it has begun to, or can never.
CONVOLUME_API double gpu_start_seconds();

/// A device as `convolume doctor` reports it.
struct GpuDevice {
    int number = 0;
    std::string name;
    int compute_major = 0, compute_minor = 0;
    bool usable = false;  ///< compute capability 7.5 at least
    index_t memory_bytes = 0;
    index_t free_bytes = 0;
    std::string bus_id;      ///< PCI address
    std::vector<int> peers;  ///< devices whose memory it can reach directly
};
/// Empty where there is none; never throws.
CONVOLUME_API std::vector<GpuDevice> gpu_devices();
/// Versions of driver and runtime as "13.0", empty where unknown.
CONVOLUME_API std::string cuda_driver_version();
CONVOLUME_API std::string cuda_runtime_version();

/// Bytes a second between page-locked host memory and a device, and within the device.
struct GpuBandwidth {
    double host_to_device = 0;
    double device_to_host = 0;
    double both = 0;    ///< sum of the two directions at once
    double device = 0;  ///< a copy, bytes read plus written
};
CONVOLUME_API GpuBandwidth measure_gpu_bandwidth(int device);
/// Sum over devices of host-to-device transfers that run at once.
CONVOLUME_API double measure_concurrent_upload(const std::vector<int>& devices);

/// What TransferGate::automatic stands for on some GPUs. Bytes a second of uploads decide: to the
/// first GPU alone and to all at once; 0 where a single GPU leaves nothing to measure.
struct TransferGateChoice {
    TransferGate gate = TransferGate::per_link;
    double one_upload = 0;
    double all_uploads = 0;
};
CONVOLUME_API TransferGateChoice choose_transfer_gate(const std::vector<int>& devices);

}  // namespace convolume
