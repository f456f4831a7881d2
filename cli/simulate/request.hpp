// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `convolume simulate` was asked to do.

#include <optional>
#include <string>

#include "cli/images/image_request.hpp"
#include "convolume/camera.hpp"
#include "convolume/convolver.hpp"

namespace convolume::cli {

struct SimulateRequest : ImageRequest {
    SimulateRequest() { options.normalization = KernelNormalization::sum; }

    std::string truth;  ///< the expected photons; empty for none
    Options options;
    std::optional<double> pixel_um;  ///< of the camera, in the sample; the phantom's voxel without
    std::optional<double> step_um;   ///< of the focus; the phantom's planes without
    double photons = 1000;           ///< at the brightest pixel
    std::optional<double> photons_per_unit;  ///< instead of `photons`
    Camera camera;

    RunFiles files() const { return {{run.timeline, truth, output}, inputs(), create.overwrite}; }
};

}  // namespace convolume::cli
