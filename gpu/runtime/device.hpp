// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which devices there are and what they can do.

#include <string>
#include <vector>

#include "convolume/engines.hpp"
#include "convolume/shape.hpp"

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

/// What the cost model needs to know about a device.
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

/// What the functions of convolume/engines.hpp tell: gpu_unavailable(), gpu_devices(),
/// cuda_driver_version() and cuda_runtime_version().
std::string unavailable();
std::vector<GpuDevice> list_devices();
std::string driver_version();
std::string runtime_version();

/// Throws Unavailable unless there is a device of that number.
void require_device(int device);

/// Free memory of a device now.
index_t free_device_bytes(int device);

}  // namespace convolume::gpu
