// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `convolume phantom` was asked to do.

#include <string>

#include "cli/app.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "convolume/image_file.hpp"
#include "convolume/phantom.hpp"

namespace convolume::cli {

struct PhantomRequest {
    PhantomOptions options;
    std::string output;
    std::string objects;  ///< a JSON file with the list of objects; empty for none
    PixelType type = PixelType::float32;
    io::CreateOptions create{.software = software_name()};
    int threads = 0;
    RunOptions run;

    RunFiles files() const { return {{objects, output}, {}, create.overwrite}; }
};

}  // namespace convolume::cli
