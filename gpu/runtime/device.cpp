// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/device.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "convolume/error.hpp"
#include "core/plan_cache.hpp"
#include "core/threads.hpp"
#include "gpu/runtime/architectures.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device_memory.hpp"

namespace convolume::gpu {

namespace {

constexpr const char* requirement =
    "convolume needs an NVIDIA GPU of compute capability 7.5 or later and its driver";

std::atomic<bool> has_started{false};
// Process that has found a usable device. CUDA does not work in a process that it forks.
std::atomic<pid_t> usable_in{0};

std::string version_text(int version) {
    return version > 0 ? message(version / 1000, ".", version % 1000 / 10) : std::string();
}

DeviceProperties read_properties(int device) {
    cudaDeviceProp cuda_properties{};
    check(cudaGetDeviceProperties(&cuda_properties, device),
          "asking the device for its properties");
    DeviceProperties properties;
    properties.number = device;
    properties.name = cuda_properties.name;
    properties.compute_major = cuda_properties.major;
    properties.compute_minor = cuda_properties.minor;
    properties.why_unusable = why_unusable(message("GPU ", device), CONVOLUME_CUDA_ARCHITECTURES,
                                           cuda_properties.major, cuda_properties.minor);
    properties.processors = cuda_properties.multiProcessorCount;
    properties.memory_bytes = static_cast<index_t>(cuda_properties.totalGlobalMem);
    // Memory transfers twice per clock; the clock is in kHz, the width in bits.
    properties.memory_bytes_per_s = 2e3 * device_attribute(cudaDevAttrMemoryClockRate, device) *
                                    device_attribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8;
    return properties;
}

}  // namespace

int current_device() {
    int device = 0;
    check(cudaGetDevice(&device), "asking for the current device");
    return device;
}

int device_attribute(cudaDeviceAttr which, int device) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device), "asking a device for its properties");
    return value;
}

void allow_shared_bytes(const void* cuda_kernel, index_t bytes, const char* what) {
    static std::mutex mutex;
    static std::map<std::pair<int, const void*>, index_t> allowed;  // by device
    const int device = current_device();
    const std::lock_guard lock(mutex);
    index_t& most = allowed[{device, cuda_kernel}];
    if (bytes <= most) return;
    check(cudaFuncSetAttribute(cuda_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(bytes)),
          what);
    most = bytes;
}

DeviceScope::DeviceScope(int device) : previous_(current_device()) {
    check(cudaSetDevice(device), "choosing a device");
}

DeviceScope::~DeviceScope() {
    static_cast<void>(cudaSetDevice(previous_));  // the device that was current before
}

DeviceProperties device_properties(int device) {
    static std::mutex mutex;
    static std::map<int, DeviceProperties> known;
    const std::lock_guard lock(mutex);
    const auto found = known.find(device);
    return found != known.end() ? found->second : known[device] = read_properties(device);
}

std::string bus_address(int device) {
    char address[32] = {};
    check(cudaDeviceGetPCIBusId(address, sizeof address, device), "asking for the PCI address");
    return address;
}

int device_count(std::string* why) {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaSuccess && count > 0) return count;
    static_cast<void>(cudaGetLastError());
    if (!why) return 0;
    if (status == cudaSuccess || status == cudaErrorNoDevice)
        *why = message("there is no NVIDIA GPU here: ", requirement);
    else if (status == cudaErrorInsufficientDriver)
        *why = message("the GPU's driver is missing or older than this build's CUDA ",
                       runtime_version(), ": update the driver");
    else
        *why = message("the GPU cannot be used (", cudaGetErrorString(status), "): ", requirement);
    return 0;
}

void require_device(int device) {
    std::string why;
    const int count = device_count(&why);
    if (count == 0) throw GpuUnavailable(why);
    if (device < 0 || device >= count)
        throw GpuUnavailable(
            message("there is no GPU ", device, ": this machine has ", count, ", numbered from 0"));
}

index_t free_device_bytes(int device) {
    const DeviceScope scope(device);
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for free device memory");
    return static_cast<index_t>(free);
}

index_t available_device_bytes(int device) {
    const index_t kept =
        std::min(PlanCache::instance().gpu_bytes(), device_memory_use().current_bytes);
    return std::min(free_device_bytes(device) + kept, device_properties(device).memory_bytes);
}

index_t usable_device_bytes(int device) {
    return available_device_bytes(device) / 10 * 9;
}

index_t largest_memory_bytes() {
    index_t largest = 0;
    for (int device = 0; device < device_count(); ++device) {
        const DeviceProperties properties = device_properties(device);
        if (properties.is_usable()) largest = std::max(largest, properties.memory_bytes);
    }
    return largest;
}

bool started() {
    return has_started;
}

std::string unavailable() {
    has_started = true;
    if (usable_in == getpid()) return {};
    std::string why;
    const int count = device_count(&why);
    if (count == 0) return why;
    try {
        for (int device = 0; device < count; ++device)
            if (device_properties(device).is_usable()) {
                usable_in = getpid();
                return {};
            }
    } catch (const Error& error) {
        return error.what();
    }
    return device_properties(0).why_unusable;
}

std::vector<GpuDevice> list_devices() {
    std::vector<GpuDevice> devices;
    const int count = device_count();
    for (int number = 0; number < count; ++number) {
        try {
            const DeviceProperties properties = device_properties(number);
            GpuDevice device;
            device.number = number;
            device.name = properties.name;
            device.compute_major = properties.compute_major;
            device.compute_minor = properties.compute_minor;
            device.usable = properties.is_usable();
            device.why_unusable = properties.why_unusable;
            device.memory_bytes = properties.memory_bytes;
            device.free_bytes = free_device_bytes(number);
            device.bus_id = bus_address(number);
            for (int other = 0; other < count; ++other) {
                int reaches = 0;
                if (other != number)
                    check(cudaDeviceCanAccessPeer(&reaches, number, other),
                          "asking for peer access");
                if (reaches) device.peers.push_back(other);
            }
            devices.push_back(std::move(device));
        } catch (const Error&) {
            continue;  // a device that fails is not listed
        }
    }
    return devices;
}

std::string driver_version() {
    int version = 0;
    return cudaDriverGetVersion(&version) == cudaSuccess ? version_text(version) : std::string();
}

std::string runtime_version() {
    int version = 0;
    return cudaRuntimeGetVersion(&version) == cudaSuccess ? version_text(version) : std::string();
}

std::vector<int> choose_devices(const std::vector<int>& requested) {
    if (const std::string why = unavailable(); !why.empty()) throw GpuUnavailable(why);
    const int count = device_count();
    for (const int device : requested) {
        if (device < 0 || device >= count)
            throw InvalidArgument(message("there is no GPU ", device, ": this machine has ", count,
                                          ", numbered from 0"));
        if (const DeviceProperties properties = device_properties(device); !properties.is_usable())
            throw GpuUnavailable(properties.why_unusable);
    }
    if (!requested.empty()) return requested;
    std::vector<int> usable;
    for (int device = 0; device < count; ++device)
        if (device_properties(device).is_usable()) usable.push_back(device);
    return usable;
}

void start_devices(const std::vector<int>& requested) {
    for (const int device : choose_devices(requested)) usable_device_bytes(device);
}

index_t occurrences_of(const std::vector<int>& devices, int device) {
    return std::count(devices.begin(), devices.end(), device);
}

index_t device_limit(const GpuOptions& options, const std::vector<int>& devices, int device) {
    const index_t limit =
        options.memory_limit_bytes ? *options.memory_limit_bytes : usable_device_bytes(device);
    return std::max<index_t>(limit / occurrences_of(devices, device), 1);
}

int threads_per_engine(const GpuOptions& options, std::size_t devices) {
    const int threads = options.host_threads > 0 ? options.host_threads : thread_count(0);
    return std::max(1, threads / static_cast<int>(devices));
}

}  // namespace convolume::gpu
