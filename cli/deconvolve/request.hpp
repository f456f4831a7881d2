// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `convolume deconvolve` was asked to do.

#include <string>

#include "cli/images/image_request.hpp"
#include "convolume/deconvolver.hpp"

namespace convolume::cli {

struct DeconvolveRequest : ImageRequest {
    DeconvolveOptions options;
    std::string output_type;  ///< a type's name, "same", or empty for float32
    bool scale_output = false;
};

}  // namespace convolume::cli
