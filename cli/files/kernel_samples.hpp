// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks and corrections of a kernel's samples: FFT order, background, negative samples and NaN.

#include <array>
#include <string>

#include "convolume/image_view.hpp"
#include "convolume/volume.hpp"
#include "core/kernel_survey.hpp"

namespace convolume::cli {

/// Axes z, y, x along which a kernel is in FFT order.
struct WrappedAxes {
    std::array<bool, 3> wrapped{};

    bool any() const { return wrapped[0] || wrapped[1] || wrapped[2]; }
    /// Returns true if all axes are in FFT order, not counting axes that are too short to tell.
    bool all_wrapped(const Shape3& shape) const;
    /// Returns the names of the axes in FFT order, such as "z, y and x".
    std::string names() const;
};

/// Finds the axes along which the largest sample is at an end and its light continues at the other
/// end. Finds none in kernels for which that is not certain: flat kernels, rings, and kernels with
/// light on one side of the end only. `survey` is that of the kernel.
WrappedAxes find_wrapped_axes(const ConstImageView& kernel, const KernelSurvey& survey);

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
