// SPDX-License-Identifier: Apache-2.0
#pragma once
// Figures of a kernel that checks, centers and normalizations need, from one pass over its samples.

#include <array>
#include <complex>
#include <limits>
#include <optional>

#include "convolume/export.hpp"
#include "convolume/image_view.hpp"
#include "convolume/options.hpp"

namespace convolume {

/// Sums and extremes of a kernel h.
struct KernelSurvey {
    std::complex<double> sum;
    double magnitudes = 0;                                   ///< Σ |h[i]|
    double least = std::numeric_limits<double>::infinity();  ///< least magnitude
    double most = -1;                 ///< largest magnitude; -1 if no sample is a number
    Index3 peak;                      ///< index of a sample of that magnitude, see kernel_peak()
    std::array<double, 3> moments{};  ///< Σ |h[i]| i along each axis
    std::optional<Index3> nonfinite;  ///< first sample in C order that is NaN or infinite
    double nonfinite_value = 0;       ///< that sample, or its component that is not finite
};

/// Surveys a kernel by up to `threads` threads, on which the result does not depend. Throws
/// InvalidArgument if it has samples but no memory.
CONVOLUME_API KernelSurvey survey_kernel(const ConstImageView& kernel, int threads);

/// Returns what kernel_centroid() does, from a survey.
std::array<double, 3> centroid_of(const KernelSurvey& survey);

/// Returns what center_index() does, from the kernel's extents and a survey.
CONVOLUME_API Index3 center_index(const KernelCenter& center, const Shape3& kernel,
                                  const KernelSurvey& survey);

}  // namespace convolume
