// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `convolume convolve` was asked to do.

#include <string>

#include "cli/images/image_request.hpp"
#include "convolume/convolver.hpp"

namespace convolume::cli {

struct ConvolveRequest : ImageRequest {
    ConvolveRequest() { options.normalization = KernelNormalization::sum; }

    Options options;
    std::string output_type;  ///< a type's name, "same", or empty for the natural type
    bool scale_output = false;
};

/// Shape of the image that a Convolver is planned for, given the file's shape: they differ for the
/// adjoint, whose input is what a convolution would have put out.
Shape3 planned_image_shape(const Shape3& input, const Shape3& kernel, const Options& options);

}  // namespace convolume::cli
