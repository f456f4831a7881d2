// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume project` as the steps of a run: the image is read box by box, and the projection is
// written as soon as a part of it is complete.

#include <memory>

#include "cli/project/request.hpp"
#include "cli/run/run.hpp"

namespace convolume::cli {

class ProjectSteps : public RunSteps {
  public:
    explicit ProjectSteps(const ProjectRequest& request) : request_(request) {}

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
    void project(index_t frame, index_t channel, Reduction& reduction, Volume& samples,
                 const ExecutionContext& context);

    const ProjectRequest& request_;
    std::unique_ptr<io::ImageReader> reader_;
    io::ImageMetadata input_;
    io::ImageMetadata output_;
    Shape3 box_;     ///< extents of what is read at a time
    Shape3 region_;  ///< the same, with the whole axis: what is projected at a time
    std::unique_ptr<io::ImageWriter> writer_;
};

}  // namespace convolume::cli
