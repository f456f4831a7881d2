// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume convolve` as the steps of a run: every channel and time point is convolved by one
// Convolver.

#include <memory>
#include <optional>

#include "cli/convolve/request.hpp"
#include "cli/files/scaled_output.hpp"
#include "cli/run/run.hpp"

namespace convolume::cli {

class ConvolveSteps : public RunSteps {
  public:
    explicit ConvolveSteps(const ConvolveRequest& request) : request_(request) {}

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
    void make_convolver(const Options& options);
    index_t volumes() const { return input_.frames * input_.channels; }

    const ConvolveRequest& request_;
    std::unique_ptr<io::ImageReader> reader_;
    std::unique_ptr<io::ImageWriter> writer_;
    io::ImageMetadata input_;
    io::ImageMetadata output_;
    KernelFile kernel_;
    std::optional<Convolver> convolver_;
    ResultPlan result_;
    ExecutionReport executed_;  ///< of all channels and frames
};

}  // namespace convolume::cli
