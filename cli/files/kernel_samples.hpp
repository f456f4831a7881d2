// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks and corrections of a kernel's samples: background, negative samples and NaN.

#include <string>

#include "convolume/volume.hpp"
#include "core/kernel_survey.hpp"

namespace convolume::cli {

/// Throws BadData that names the first NaN or infinity of the kernel `path`. It is called before
/// steps that move or change samples.
void check_finite_kernel(const std::string& path, const KernelSurvey& survey);

/// The background of a measured PSF: its value without light.
struct KernelBackground {
    bool automatic = false;  ///< whether the outer faces of the stack give the value
    double value = 0;        ///< the background, unless it is automatic
};

/// Subtracts the background and sets negative results to 0. Returns the value that was subtracted.
/// `kernel` becomes float32 or float64, unless the background is 0. Throws InvalidArgument for
/// complex kernels, and for an automatic background of fewer than three samples along every axis.
double subtract_background(Volume& kernel, const KernelBackground& background);

/// Sets negative samples of a real kernel to 0; returns their number.
index_t clip_negative(Volume& kernel);

}  // namespace convolume::cli
