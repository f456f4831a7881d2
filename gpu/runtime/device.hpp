// SPDX-License-Identifier: Apache-2.0
#pragma once
// CUDA devices: properties, and the choice of devices, memory and host threads for engines.

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

#include "convolume/engines.hpp"
#include "convolume/error.hpp"
#include "convolume/shape.hpp"
#include "core/gpu_backend.hpp"

namespace convolume::gpu {

/// Makes a device current for the calling thread, and restores the previous device at its end.
class DeviceScope {
  public:
    explicit DeviceScope(int device);
    ~DeviceScope();
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

  private:
    int previous_ = 0;
};

/// Returns the device that is current for the calling thread. Throws like check().
int current_device();
/// Returns an attribute of a device. Throws like check().
int device_attribute(cudaDeviceAttr which, int device);

/// Lets thread blocks of a CUDA kernel take `bytes` of shared memory on the current device. The
/// limit of a CUDA kernel only grows, as others may have asked for more of the same one. Throws
/// like check(), whose `what` it takes.
void allow_shared_bytes(const void* cuda_kernel, index_t bytes, const char* what);

/// Properties of a device that the cost model needs.
struct DeviceProperties {
    int number = 0;
    std::string name;
    int compute_major = 0, compute_minor = 0;
    int processors = 1;
    double memory_bytes_per_s = 0;  ///< rate of the data sheet: clock times width
    index_t memory_bytes = 0;
    std::string why_unusable;  ///< sentence; empty if the device can be used

    bool is_usable() const { return why_unusable.empty(); }
};

/// Returns the properties of a device, which are read once in a process. Throws like check().
DeviceProperties device_properties(int device);
/// Returns the PCI address of a device. Throws like check().
std::string bus_address(int device);

/// Returns the number of devices that the driver offers. If it is 0, `why` receives a sentence that
/// says why.
int device_count(std::string* why = nullptr);

/// Returns the memory of the largest usable device, or 0 if there is none. Makes no CUDA context.
index_t largest_memory_bytes();

/// Whether unavailable() was called, which starts the driver.
bool started();

/// Implement the functions of convolume/engines.hpp: gpu_unavailable(), gpu_devices(),
/// cuda_driver_version() and cuda_runtime_version().
std::string unavailable();
std::vector<GpuDevice> list_devices();
std::string driver_version();
std::string runtime_version();

/// Throws Unavailable unless a device has that number.
void require_device(int device);

/// Returns the present free memory of a device.
index_t free_device_bytes(int device);
/// Returns the free memory of a device, and what the cache of plans gives back when it is needed.
/// Plans therefore do not depend on the cache.
index_t available_device_bytes(int device);
/// Returns the default memory limit of a device: nine tenths of its available memory.
index_t usable_device_bytes(int device);

/// Returns `requested`, or all usable devices if `requested` is empty. Throws Unavailable if there
/// is none or one cannot be used, InvalidArgument for numbers that do not exist.
std::vector<int> choose_devices(const std::vector<int>& requested);
/// Starts the devices that choose_devices() returns.
void start_devices(const std::vector<int>& requested);

/// Returns how often `devices` names `device`. Each time adds an engine, with an equal share of the
/// device's memory.
index_t occurrences_of(const std::vector<int>& devices, int device);

/// Returns the memory limit of an engine on `device`: its share of the options' limit for each
/// device, or of most of the free memory.
index_t device_limit(const GpuOptions& options, const std::vector<int>& devices, int device);

/// Returns the host threads for each of `devices` engines.
int threads_per_engine(const GpuOptions& options, std::size_t devices);

/// Returns a list of make(device, index, limit, host threads) for all devices. A device that is
/// full or faulty is skipped, unless the options name it. Throws Unavailable if none is left.
template <class List, class Make>
List make_on_devices(const GpuOptions& options, const std::vector<int>& devices, const Make& make) {
    List engines;
    std::string why;
    for (const int device : devices) {
        try {
            engines.push_back(make(device, options.first_index + static_cast<int>(engines.size()),
                                   device_limit(options, devices, device),
                                   threads_per_engine(options, devices.size())));
        } catch (const Error& error) {
            if (!options.devices.empty()) throw;
            why = error.what();
        }
    }
    if (engines.empty()) throw GpuUnavailable(message("no GPU can be used now: ", why));
    return engines;
}

}  // namespace convolume::gpu
