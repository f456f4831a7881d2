// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/gpu_backend.hpp"
#include "deconvolve/executors/executor.hpp"
#include "deconvolve/loop.hpp"
#include "deconvolve/placement.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/staging.hpp"

// The GPUs of a deconvolution with the memory that it may use, and the base of its runners.
namespace convolume::deconvolve {

struct DeviceChoice final : GpuChoice {
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

    bool has_several() const override { return devices.size() > 1; }
    index_t wanted_slabs(const DeconvolutionProblem& problem) const override {
        // Smallest slab for which another GPU pays for its halo exchange.
        constexpr index_t least_slab_voxels = index_t{1} << 26;
        const index_t most = most_slabs(problem);
        if (named) return most;
        return std::clamp<index_t>(element_count(problem.object) / least_slab_voxels, 1, most);
    }
    index_t most_slabs(const DeconvolutionProblem& problem) const {
        return std::min(static_cast<index_t>(devices.size()), problem.object.z);
    }

    /// Returns the bytes that may be taken on a GPU now. A GPU that is named several times is
    /// divided.
    index_t limit_bytes(int device) const {
        // Transforms and arrays must leave the driver some memory.
        constexpr double usable_share = 0.95;
        const auto free_bytes = static_cast<index_t>(
            usable_share * static_cast<double>(gpu::available_device_bytes(device)));
        return std::min(free_bytes, max_bytes.value_or(free_bytes)) /
               gpu::occurrences_of(devices, device);
    }

    /// Returns relative speeds of the first `count` devices: their memory bandwidths, which limit
    /// passes and sums.
    std::vector<double> speeds(index_t count) const {
        std::vector<double> found;
        for (index_t i = 0; i < count; ++i)
            found.push_back(
                gpu::device_properties(devices[static_cast<std::size_t>(i)]).memory_bytes_per_s);
        // If a driver reports no bandwidth, all devices count as equal.
        if (std::any_of(found.begin(), found.end(), [](double speed) { return !(speed > 0); }))
            std::fill(found.begin(), found.end(), 1.0);
        return found;
    }

    std::vector<int> devices;
    bool named;  ///< whether the caller has named the devices, so that all of them are used
    int threads;
    std::optional<index_t> max_bytes;
    /// Workspace on the only device, shared with the caller's; null: not shared.
    std::shared_ptr<DeviceWorkspace> workspace;
};

// Functions of DeviceDeconvolution that other sources define.
std::unique_ptr<Runner> make_walk_runner(const DeconvolutionProblem& problem, const GpuChoice& gpus,
                                         const std::string& why_not_resident);
std::unique_ptr<Runner> make_view_runner(const DeconvolutionProblem& problem, const GpuChoice& gpus,
                                         const ObjectGrid& object, const std::vector<View>& views,
                                         const ViewScales& scales);
std::unique_ptr<CallerImages> make_device_images(const DevicePixels& pixels, const Shape3& shape);

class GpuRunner : public Runner {
  public:
    DeconvolveReport execute(const DeconvolutionProblem& problem, CallerImages& images,
                             const ExecutionContext& context,
                             const DeconvolveRun& run_options) override {
        const gpu::DeviceScope scope(device_);
        if (context.timeline) context.timeline->name_engine(device_, plan_.engines);
        Executor* ready = nullptr;
        {
            const PhaseTimer timer(context.timeline, Phase::allocate, device_);
            ready = &executor(problem);
        }
        return run(*ready, problem, images, context, run_options, device_);
    }

  protected:
    /// `device` is the first device. Derived classes correct engines, grid and bytes of the plan.
    GpuRunner(const DeconvolutionProblem& problem, int device) : device_(device) {
        plan_.on_device = true;
        plan_.engines = message("gpu:", device_);
        plan_.object = problem.object;
        plan_.host_bytes = caller_bytes(problem);
    }

    /// Returns the executor for one execution. The device is current.
    virtual Executor& executor(const DeconvolutionProblem& problem) = 0;

    template <class Arrays>
    void free_on_device(Arrays& arrays) const {
        try {
            const gpu::DeviceScope scope(device_);
            arrays.reset();
        } catch (const Error&) {  // the device is lost, so no memory is left to free
        }
    }

    int device_;
};

}  // namespace convolume::deconvolve
