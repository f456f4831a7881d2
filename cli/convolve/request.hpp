// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `convolume convolve` was asked to do.

#include <string>

#include "cli/app.hpp"
#include "cli/files/kernel_file.hpp"
#include "cli/files/selected_image.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "convolume/convolver.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

struct ConvolveRequest {
    ConvolveRequest() { options.normalization = KernelNormalization::sum; }

    std::string image;
    std::string kernel;
    std::string output;        ///< may be empty in a dry run
    ImageSelection selection;  ///< of it
    KernelOptions kernel_options;
    Options options;
    EngineChoice engines;
    std::string output_type;  ///< a type's name, "same", or empty for the natural type
    bool scale_output = false;
    io::CreateOptions create{.software = software_name()};
    RunOptions run;

    RunFiles files() const { return {{run.timeline, output}, {image, kernel}, create.overwrite}; }
};

/// Shape of the image that a Convolver is planned for, given the file's shape: they differ for the
/// adjoint, whose input is what a convolution would have put out.
Shape3 planned_image_shape(const Shape3& input, const Shape3& kernel, const Options& options);

}  // namespace convolume::cli
