// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `convolume deconvolve` was asked to do.

#include <string>

#include "cli/app.hpp"
#include "cli/files/kernel_file.hpp"
#include "cli/files/selected_image.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "convolume/deconvolver.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

struct DeconvolveRequest {
    std::string image;
    std::string psf;
    std::string output;        ///< may be empty in a dry run
    ImageSelection selection;  ///< of it
    KernelOptions psf_options;
    DeconvolveOptions options;
    EngineChoice engines;
    std::string output_type;  ///< a type's name, "same", or empty for float32
    bool scale_output = false;
    io::CreateOptions create{.software = software_name()};
    RunOptions run;

    RunFiles files() const { return {{run.timeline, output}, {image, psf}, create.overwrite}; }
};

}  // namespace convolume::cli
