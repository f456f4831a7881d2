// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which GPUs deconvolve, and how much of their memory they may take.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/device_program.hpp"
#include "deconvolve/runner.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/staging.hpp"

namespace convolume::deconvolve {

struct DeviceChoice {
    explicit DeviceChoice(const EngineChoice& choice,
                          std::shared_ptr<DeviceWorkspace> shared = nullptr)
        : devices(gpu::choose_devices(choice.gpus)),
          named(!choice.gpus.empty()),
          threads(choice.threads > 0
                      ? choice.threads
                      : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))),
          max_bytes(choice.max_gpu_bytes),
          workspace(std::move(shared)) {
        gpu::install_page_locker();
    }

    /// What may be taken of a GPU's memory now, each time it is named.
    index_t limit_bytes(int device) const {
        // Transforms and arrays must leave the driver some room.
        constexpr double usable_share = 0.95;
        const auto free_bytes = static_cast<index_t>(
            usable_share * static_cast<double>(gpu::free_device_bytes(device)));
        return std::min(free_bytes, max_bytes.value_or(free_bytes)) /
               gpu::shares_of(devices, device);
    }

    /// Of the first devices, in proportion: passes and sums wait for memory.
    std::vector<double> speeds(index_t count) const {
        std::vector<double> found;
        for (index_t i = 0; i < count; ++i)
            found.push_back(
                gpu::device_facts(devices[static_cast<std::size_t>(i)]).memory_bytes_per_s);
        // Where a driver does not tell, all are alike.
        if (std::any_of(found.begin(), found.end(), [](double speed) { return !(speed > 0); }))
            std::fill(found.begin(), found.end(), 1.0);
        return found;
    }

    std::vector<int> devices;
    bool named;  ///< by the caller: all of them are to be used
    int threads;
    std::optional<index_t> max_bytes;
    std::shared_ptr<DeviceWorkspace> workspace;  ///< to share, of the one device; null: none
};

/// On how many GPUs slabs of planes are worth it: on all that are named.
index_t wanted_parts(const Problem& problem, const DeviceChoice& choice);
/// The iteration as passes over spectra, in slabs of planes on one GPU or several; null where the
/// method or the lengths have none. Throws OutOfMemory where they do not fit.
std::unique_ptr<Runner> make_pass_runner(const Problem& problem, const DeviceChoice& choice);
/// Iterations of any method over arrays in slabs on several GPUs; null where the edges or the
/// lengths have no passes, or the GPUs share no addresses. Throws OutOfMemory.
std::unique_ptr<Runner> make_array_slab_runner(const Problem& problem, const DeviceChoice& choice);
/// The same with the arrays in host memory; null where the method or the lengths have no passes, or
/// where memory of either kind is too small.
std::unique_ptr<Runner> make_walk_runner(const Problem& problem, const DeviceChoice& choice,
                                         const std::string& why_not_resident);

}  // namespace convolume::deconvolve
