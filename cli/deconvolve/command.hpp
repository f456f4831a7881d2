// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume deconvolve` as the steps of a run: every channel and time point is restored by one
// Deconvolver.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/deconvolve/request.hpp"
#include "cli/files/scaled_output.hpp"
#include "cli/run/run.hpp"

namespace convolume::cli {

/// "iteration 3 of 30, log-likelihood -1234.5", or the residual.
std::string iteration_text(const Iteration& iteration, DeconvolveMethod method);

class DeconvolveSteps : public RunSteps {
  public:
    explicit DeconvolveSteps(const DeconvolveRequest& request) : request_(request) {}

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
    ExecutionReport executed() const;
    void plan_memory(index_t limit);

    const DeconvolveRequest& request_;
    std::unique_ptr<io::ImageReader> reader_;
    std::unique_ptr<io::ImageWriter> writer_;
    io::ImageMetadata input_;
    io::ImageMetadata output_;
    KernelFile psf_;
    std::optional<Deconvolver> deconvolver_;
    ResultPlan result_;
    bool overlapped_ = false;                ///< memory holds the next volume and the last one too
    std::vector<DeconvolveReport> volumes_;  ///< t slowest, then c
};

}  // namespace convolume::cli
