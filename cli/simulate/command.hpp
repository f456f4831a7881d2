// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume simulate` as the steps of a run: all channels and time points are blurred by the
// Convolvers of their PSFs, then recorded by the camera plane by plane.

#include <memory>
#include <optional>
#include <utility>

#include "cli/images/channel_kernels.hpp"
#include "cli/images/image_run.hpp"
#include "cli/simulate/blurred_light.hpp"
#include "cli/simulate/request.hpp"

namespace convolume::cli {

class SimulateSteps : public ImageSteps {
  public:
    using Kernels = ChannelKernels<Convolver>;

    explicit SimulateSteps(const SimulateRequest& request, std::shared_ptr<Kernels::Cache> cache =
                                                               std::make_shared<Kernels::Cache>())
        : request_(request), kernels_(std::move(cache)) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    void report_plan(const Console& console) const override;
    Work work() const override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void commit() override;
    void report_result(const Console& console, const RunTimes& times) const override;
    void fill_json(nlohmann::ordered_json& json, const RunTimes* times) const override;

  private:
    index_t camera_bytes(index_t slots) const;
    double brightest_pixel(BlurredLight& light, const ExecutionContext& context);
    void record(BlurredLight& light, const ExecutionContext& context);

    const SimulateRequest request_;
    Kernels kernels_;
    std::unique_ptr<io::ImageWriter> truth_;  ///< null without --truth
    std::optional<CameraGrid> grid_;
    LightPlan light_;
    double photons_per_unit_ = 0;
    ExecutionReport executed_;      ///< of the convolutions
    index_t negative_samples_ = 0;  ///< of the phantom
    CameraReport recorded_;         ///< of all pixels
};

}  // namespace convolume::cli
