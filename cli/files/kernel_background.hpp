// SPDX-License-Identifier: Apache-2.0
#pragma once
// What of a measured kernel is light: its background subtracted, no sample negative.

#include "convolume/volume.hpp"

namespace convolume::cli {

/// What a measured PSF shows where there is no light.
struct KernelBackground {
    bool automatic = false;  ///< found on the stack's outer faces
    double value = 0;        ///< otherwise
};

/// Subtracts the background; what is left below 0 becomes 0. Returns what was subtracted; 0 leaves
/// `kernel` as it is, else it becomes float32 or float64. Throws InvalidArgument for complex
/// kernels, and for automatic ones of fewer than three samples along every axis.
double subtract_background(Volume& kernel, const KernelBackground& asked);

/// Sets negative samples of a real kernel to 0; returns their number.
index_t clip_negative(Volume& kernel);

}  // namespace convolume::cli
