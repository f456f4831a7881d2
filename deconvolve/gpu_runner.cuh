// SPDX-License-Identifier: Apache-2.0
#pragma once
// What runners on GPUs have in common, whatever their arrays.

#include <optional>

#include "deconvolve/device_choice.hpp"
#include "deconvolve/run.hpp"

namespace convolume::deconvolve {

class GpuRunner : public Runner {
  public:
    const DeconvolvePlan& plan() const override { return plan_; }

    DeconvolveReport execute(const Problem& problem, const Images& images,
                             const ExecutionContext& context, const DeconvolveRun& along) override {
        const gpu::DeviceScope scope(device_);
        if (context.timeline) context.timeline->name_engine(device_, plan_.engines);
        const PhaseTimer timer(context.timeline, Phase::convolve, device_);
        return execute_there(problem, images, context, along);
    }

  protected:
    /// `device` is the first where there are several. Engines, grid and bytes of the plan are left
    /// to do where they are others.
    GpuRunner(const Problem& problem, int device) : device_(device) {
        plan_.on_device = true;
        plan_.engines = message("gpu:", device_);
        plan_.object = problem.object;
        plan_.host_bytes =
            checked_multiply(2 * static_cast<index_t>(sizeof(float)), element_count(problem.image));
    }

    /// With the device current.
    virtual DeconvolveReport execute_there(const Problem& problem, const Images& images,
                                           const ExecutionContext& context,
                                           const DeconvolveRun& along) = 0;

    template <class Arrays>
    void free_on_device(Arrays& arrays) const {
        try {
            const gpu::DeviceScope scope(device_);
            arrays.reset();
        } catch (const Error&) {  // a lost device: nothing is left to free
        }
    }

    int device_;
    DeconvolvePlan plan_;
};

}  // namespace convolume::deconvolve
