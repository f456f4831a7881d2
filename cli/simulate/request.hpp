// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `convolume simulate` was asked to do.

#include <optional>
#include <string>

#include "cli/app.hpp"
#include "cli/files/kernel_file.hpp"
#include "cli/files/selected_image.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "convolume/camera.hpp"
#include "convolume/convolver.hpp"

namespace convolume::cli {

struct SimulateRequest {
    SimulateRequest() { options.normalization = KernelNormalization::sum; }

    std::string phantom;
    std::string kernel;
    std::string output;        ///< may be empty in a dry run
    std::string truth;         ///< the expected photons; empty for none
    ImageSelection selection;  ///< of it
    Options options;
    KernelOptions kernel_options;
    EngineChoice engines;
    std::optional<double> pixel_um;  ///< of the camera, in the sample; the phantom's voxel without
    std::optional<double> step_um;   ///< of the focus; the phantom's planes without
    double photons = 1000;           ///< at the brightest pixel
    std::optional<double> photons_per_unit;  ///< instead of `photons`
    Camera camera;
    io::CreateOptions create{.software = software_name()};
    RunOptions run;

    RunFiles files() const {
        return {{run.timeline, truth, output}, {phantom, kernel}, create.overwrite};
    }
};

}  // namespace convolume::cli
