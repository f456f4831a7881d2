// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume phantom` as the steps of a run: a specimen is drawn and written a few planes at a
// time.

#include <memory>
#include <optional>
#include <string>

#include "cli/phantom/request.hpp"
#include "cli/run/run.hpp"

namespace convolume::cli {

class PhantomSteps : public RunSteps {
  public:
    explicit PhantomSteps(const PhantomRequest& request) : request_(request) {}

    void open(const ExecutionContext&) override {}
    void plan(const ExecutionContext& context) override;
    void report_plan(const Console& console) const override;
    Work work() const override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void commit() override;
    void report_result(const Console& console, const RunTimes& times) const override;
    void fill_json(nlohmann::ordered_json& json, const RunTimes* times) const override;

  private:
    std::string objects_text() const;
    index_t group_planes() const;

    const PhantomRequest& request_;
    std::optional<Phantom> phantom_;
    io::ImageMetadata output_;
    std::unique_ptr<io::ImageWriter> writer_;
    index_t clamped_ = 0;  ///< values too large for integers
};

}  // namespace convolume::cli
