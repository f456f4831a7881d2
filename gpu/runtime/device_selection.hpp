// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which devices get engines, and with how much memory and how many host threads each.

#include <vector>

#include "convolume/error.hpp"
#include "core/gpu_backend.hpp"

namespace convolume::gpu {

/// `asked`, or all usable devices where that is empty. Throws Unavailable when there is none or one
/// is too old, InvalidArgument for numbers that do not exist.
std::vector<int> choose_devices(const std::vector<int>& asked);

/// How often `device` is among `devices`: each time it is named it gets an engine more, with an
/// equal share of its memory.
index_t shares_of(const std::vector<int>& devices, int device);

/// What an engine on one of `devices` may take: its share of the limit that options give each
/// device, or of most of what is free where they give none.
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
