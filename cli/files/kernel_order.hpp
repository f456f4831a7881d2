// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels in FFT order, as programs save them that transform them next: the center is sample 0, and
// what goes before it is at the upper end of each axis.

#include <array>
#include <string>

#include "convolume/image_view.hpp"

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

}  // namespace convolume::cli
