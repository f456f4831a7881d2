// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `convolume deconvolve` was asked to do.

#include <string>
#include <vector>

#include "cli/images/image_request.hpp"
#include "convolume/deconvolver.hpp"

namespace convolume::cli {

struct DeconvolveRequest : ImageRequest {
    DeconvolveOptions options;
    std::string output_type;  ///< a type's name, "same", or empty for float32
    bool scale_output = false;
    std::string start;        ///< an image to begin with; empty for none
    bool warm_start = false;  ///< each time point begins with the result of the last one
    int dump_every = 0;       ///< iterations between estimates that are written; 0: none

    std::vector<std::string> inputs() const {
        std::vector<std::string> all = ImageRequest::inputs();
        if (!start.empty()) all.push_back(start);
        return all;
    }
    RunFiles files() const { return {{run.timeline, output}, inputs(), create.overwrite}; }
};

}  // namespace convolume::cli
