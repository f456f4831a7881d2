// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume project`: its request, and its run, which reads the image box by box and writes each
// part of the projection as soon as it is complete.

#include "cli/images/image_steps.hpp"
#include "cli/project/reduction.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

struct ProjectRequest : ImageFiles {
    int axis = 0;
    ProjectionKind by = ProjectionKind::max;
};

class ProjectSteps : public ImageSteps {
  public:
    explicit ProjectSteps(const ProjectRequest& request) : ImageSteps(request), request_(request) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void tell_plan(const Facts& facts) const override;

  private:
    void project(index_t frame, index_t channel, Reduction& reduction, Volume& samples,
                 const ExecutionContext& context);

    const ProjectRequest& request_;
    Shape3 box_;     ///< extents of the boxes that are read at a time
    Shape3 region_;  ///< extents that are projected at a time: box_ along the whole axis
};

}  // namespace convolume::cli
