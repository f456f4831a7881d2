// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which devices there are, what they can do, and which of them get engines, with how much memory
// and how many host threads each.

#include <string>
#include <vector>

#include "convolume/engines.hpp"
#include "convolume/error.hpp"
#include "convolume/shape.hpp"
#include "core/gpu_backend.hpp"

namespace convolume::gpu {

/// Makes a device current for the calling thread, and the one before it at the end.
class DeviceScope {
  public:
    explicit DeviceScope(int device);
    ~DeviceScope();
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

  private:
    int before_ = 0;
};

/// Facts of a device that the cost model needs.
struct DeviceFacts {
    int number = 0;
    std::string name;
    int compute_major = 0, compute_minor = 0;
    int processors = 1;
    double memory_bytes_per_s = 0;  ///< by data sheet: clock times width
    index_t memory_bytes = 0;

    bool usable() const { return compute_major > 7 || (compute_major == 7 && compute_minor >= 5); }
};

/// Facts of one device. Throws as check() does.
DeviceFacts device_facts(int device);

/// Devices the driver offers; 0 where there is none. `why` gets a sentence when there is none.
int device_count(std::string* why = nullptr);

/// Whether unavailable() was asked, which starts the driver.
bool started();

/// The answers of functions of convolume/engines.hpp: gpu_unavailable(), gpu_devices(),
/// cuda_driver_version() and cuda_runtime_version().
std::string unavailable();
std::vector<GpuDevice> list_devices();
std::string driver_version();
std::string runtime_version();

/// Throws Unavailable unless there is a device of that number.
void require_device(int device);

/// Free memory of a device now.
index_t free_device_bytes(int device);
/// The default limit of memory on a device: nine tenths of what is free now.
index_t usable_device_bytes(int device);

/// `asked`, or all usable devices where that is empty. Throws Unavailable when there is none or one
/// is too old, InvalidArgument for numbers that do not exist.
std::vector<int> choose_devices(const std::vector<int>& asked);

/// How often `device` is among `devices`: each time it is named it gets an engine more, with an
/// equal share of its memory.
index_t shares_of(const std::vector<int>& devices, int device);

/// Memory that an engine on one of `devices` may take: its share of the limit that options give
/// each device, or of most of what is free where they give none.
index_t device_limit(const GpuOptions& options, const std::vector<int>& devices, int device);

/// Host threads for each of `devices` engines.
int threads_each(const GpuOptions& options, std::size_t devices);

/// List{make(device, index, limit, host threads), …}. A device that is full or out of order is left
/// out, unless it was asked for; throws Unavailable when none is left.
template <class List, class Make>
List make_on_devices(const GpuOptions& options, const std::vector<int>& devices, const Make& make) {
    List engines;
    std::string why;
    for (const int device : devices) {
        try {
            engines.push_back(make(device, options.first_index + static_cast<int>(engines.size()),
                                   device_limit(options, devices, device),
                                   threads_each(options, devices.size())));
        } catch (const Error& error) {
            if (!options.devices.empty()) throw;
            why = error.what();
        }
    }
    if (engines.empty()) throw GpuUnavailable(message("no GPU can be used now: ", why));
    return engines;
}

}  // namespace convolume::gpu
