// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume simulate` as the steps of a run: all channels and time points are blurred by one
// Convolver, then recorded by the camera plane by plane.

#include <memory>
#include <optional>

#include "cli/run/run.hpp"
#include "cli/simulate/blurred_light.hpp"
#include "cli/simulate/request.hpp"

namespace convolume::cli {

class SimulateSteps : public RunSteps {
  public:
    explicit SimulateSteps(const SimulateRequest& request) : request_(request) {}

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
    index_t volumes() const { return input_.frames * input_.channels; }
    index_t camera_bytes(index_t slots) const;
    double brightest_pixel(BlurredLight& light, const ExecutionContext& context);
    void record(BlurredLight& light, const ExecutionContext& context);

    const SimulateRequest& request_;
    std::unique_ptr<io::ImageReader> reader_;
    std::unique_ptr<io::ImageWriter> writer_;
    std::unique_ptr<io::ImageWriter> truth_;  ///< null without --truth
    io::ImageMetadata input_;
    io::ImageMetadata output_;
    KernelFile kernel_;  ///< its values are gone once a convolver is made of them
    std::optional<CameraGrid> grid_;
    std::optional<Convolver> convolver_;
    Plan plan_;  ///< the convolver's, which is gone when the camera records
    LightPlan light_;
    double photons_per_unit_ = 0;
    ExecutionReport executed_;          ///< of the convolutions
    index_t negative_psf_samples_ = 0;  ///< set to 0
    index_t negative_samples_ = 0;      ///< of the phantom
    CameraReport recorded_;             ///< of all pixels
};

}  // namespace convolume::cli
