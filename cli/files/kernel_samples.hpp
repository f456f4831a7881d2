// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is found in a kernel's samples, and changed in them, before it is used: FFT order, a
// background, negative samples, NaN.

#include <array>
#include <string>

#include "convolume/image_view.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

/// Axes z, y, x along which a kernel is in FFT order.
struct WrappedAxes {
    std::array<bool, 3> wrapped{};

    bool any() const { return wrapped[0] || wrapped[1] || wrapped[2]; }
    /// Whether all axes are, but for those too short to tell.
    bool all_of(const Shape3& shape) const;
    /// "z, y and x"
    std::string names() const;
};

/// Finds the axes along which the largest sample is at the lower or upper end and the light around
/// it continues at the other end. None for kernels that may as well be as they are: flat ones,
/// rings, light on one side of the end only.
WrappedAxes find_wrapped_axes(const ConstImageView& kernel);

/// Throws BadData that names the first sample of the kernel `path` that is NaN or infinite, before
/// steps that would move or hide it.
void check_finite_kernel(const std::string& path, const ConstImageView& kernel);

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
