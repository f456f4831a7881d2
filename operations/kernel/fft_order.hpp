// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels in FFT order: their center is sample 0, and their light goes on at the other end.

#include <array>
#include <optional>
#include <string>

#include "convolume/error.hpp"
#include "convolume/image_view.hpp"
#include "core/kernel_survey.hpp"

namespace convolume {

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

/// Returns a sentence if the kernel of that name is in FFT order, or, of one that was unwrapped
/// since the caller said that it is, if it was not.
std::optional<Sentence> fft_order_warning(const WrappedAxes& found, const Shape3& shape,
                                          const std::string& name, bool was_unwrapped);

}  // namespace convolume
