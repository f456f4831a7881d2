// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `convolume project` was asked to do.

#include <string>

#include "cli/app.hpp"
#include "cli/files/selected_image.hpp"
#include "cli/project/reduction.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

struct ProjectRequest {
    std::string image;
    std::string output;
    int axis = 0;
    ProjectBy by = ProjectBy::max;
    ImageSelection selection;
    io::CreateOptions create{.software = software_name()};
    RunOptions run;

    RunFiles files() const { return {{run.timeline, output}, {image}, create.overwrite}; }
};

}  // namespace convolume::cli
