// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which GPU deconvolves, and how much of its memory it may take.

#include <algorithm>
#include <memory>
#include <thread>

#include "deconvolve/runner.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/device_selection.hpp"

namespace convolume::deconvolve {

/// The first of the chosen GPUs.
struct DeviceChoice {
    explicit DeviceChoice(const EngineChoice& choice)
        : device(gpu::choose_devices(choice.gpus).front()),
          threads(choice.threads > 0
                      ? choice.threads
                      : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))) {
        // Transforms and arrays must leave the driver some room.
        constexpr double usable_share = 0.95;
        const auto free_bytes = static_cast<index_t>(
            usable_share * static_cast<double>(gpu::free_device_bytes(device)));
        limit_bytes = std::min(free_bytes, choice.max_gpu_bytes.value_or(free_bytes));
    }

    int device;
    int threads;
    index_t limit_bytes;
};

/// The iteration as passes over one spectrum; null where the method or the lengths have none.
std::unique_ptr<Runner> make_pass_runner(const Problem& problem, const DeviceChoice& choice);

}  // namespace convolume::deconvolve
