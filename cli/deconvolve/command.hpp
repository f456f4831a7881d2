// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume deconvolve` as the steps of a run: every channel and time point is restored by the
// Deconvolver of its PSF.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/deconvolve/estimate_files.hpp"
#include "cli/deconvolve/pixel_warnings.hpp"
#include "cli/deconvolve/request.hpp"
#include "cli/files/scaled_output.hpp"
#include "cli/images/channel_kernels.hpp"
#include "cli/images/image_steps.hpp"

namespace convolume::cli {

/// "iteration 3 of 30, log-likelihood -1234.5", or the residual.
std::string iteration_text(const Iteration& iteration, DeconvolveMethod method);

class DeconvolveSteps : public ImageSteps {
  public:
    using Kernels = ChannelKernels<Deconvolver>;

    explicit DeconvolveSteps(
        const DeconvolveRequest& request,
        std::shared_ptr<Kernels::Cache> cache = std::make_shared<Kernels::Cache>())
        : request_(request), kernels_(std::move(cache)) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    void report_plan(const Console& console) const override;
    Work work() const override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void report_result(const Console& console, const RunTimes& times) const override;
    void fill_json(nlohmann::ordered_json& json, const RunTimes* times) const override;

  private:
    ExecutionReport executed() const;
    void plan_memory(index_t limit);

    void open_start();
    /// What the volume that comes next begins with; no data: nothing.
    ConstImageView start_of_next();

    const DeconvolveRequest request_;
    std::unique_ptr<io::ImageReader> start_reader_;  ///< of --start
    Volume start_;                                   ///< of --start, one volume
    std::vector<Volume> last_results_;               ///< of --warm-start, each channel's
    Kernels kernels_;
    ResultPlan result_;
    bool overlapped_ = false;  ///< memory holds the next volume and the last one too
    std::optional<PixelCheck> pixels_;
    std::optional<EstimateFiles> estimates_;  ///< of --dump-every
    std::vector<DeconvolveReport> volumes_;   ///< t slowest, then c
};

}  // namespace convolume::cli
