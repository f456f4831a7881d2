// SPDX-License-Identifier: Apache-2.0
#pragma once
// The extents that convolutions are planned for.

#include "convolume/options.hpp"
#include "convolume/shape.hpp"

namespace convolume::cli {

/// Returns the shape of the image that a Convolver is planned for. It differs from that of the
/// file, `input`, for an adjoint: its input is the output of a convolution.
Shape3 planned_image_shape(const Shape3& input, const Shape3& kernel, const Options& options);

}  // namespace convolume::cli
