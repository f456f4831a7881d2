// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume project`: its request, and its run, which reads the image box by box and writes each
// part of the projection as soon as it is complete.

#include <memory>
#include <string>

#include "cli/app.hpp"
#include "cli/files/selected_image.hpp"
#include "cli/project/reduction.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/run.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

struct ProjectRequest {
    std::string image;
    std::string output;
    int axis = 0;
    ProjectionKind by = ProjectionKind::max;
    ImageSelection selection;
    io::CreateOptions create{.software = software_name()};
    RunOptions run;

    RunFiles files() const { return {{run.timeline, output}, {image}, create.overwrite}; }
};

class ProjectSteps : public RunSteps {
  public:
    explicit ProjectSteps(const ProjectRequest& request) : request_(request) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    void report_plan(const Console& console) const override;
    WorkAmount work() const override;
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
    io::ImageMetadata input_metadata_;
    io::ImageMetadata output_metadata_;
    Shape3 box_;     ///< extents of the boxes that are read at a time
    Shape3 region_;  ///< extents that are projected at a time: box_ along the whole axis
    std::unique_ptr<io::ImageWriter> writer_;
};

}  // namespace convolume::cli
