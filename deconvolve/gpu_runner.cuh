// SPDX-License-Identifier: Apache-2.0
#pragma once
// What runners on one GPU have in common, whatever their arrays.

#include <optional>

#include "deconvolve/device_choice.hpp"
#include "deconvolve/run.hpp"

namespace convolume::deconvolve {

template <class Arrays>
class GpuRunner : public Runner {
  public:
    ~GpuRunner() override {
        try {
            const gpu::DeviceScope scope(device_);
            arrays_.reset();
        } catch (const Error&) {  // a lost device: nothing is left to free
        }
    }

    const DeconvolvePlan& plan() const override { return plan_; }

    DeconvolveReport execute(const Problem& problem, const ConstImageView& image,
                             const ImageView& result, const ExecutionContext& context,
                             const DeconvolveRun& along) override {
        const gpu::DeviceScope scope(device_);
        if (context.timeline) context.timeline->name_engine(device_, plan_.engines);
        const PhaseTimer timer(context.timeline, Phase::convolve, device_);
        return run(*arrays_, problem, image, result, context, along);
    }

  protected:
    /// Grid and bytes of the plan, and the arrays, are left to do.
    GpuRunner(const Problem& problem, const DeviceChoice& choice) : device_(choice.device) {
        plan_.on_device = true;
        plan_.engines = message("gpu:", device_);
        plan_.object = problem.object;
        plan_.host_bytes =
            checked_multiply(2 * static_cast<index_t>(sizeof(float)), element_count(problem.image));
    }

    int device_;
    std::optional<Arrays> arrays_;
    DeconvolvePlan plan_;
};

}  // namespace convolume::deconvolve
