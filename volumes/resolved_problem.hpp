// SPDX-License-Identifier: Apache-2.0
#pragma once
// From what a caller asks for to the plain convolution that is run.

#include <array>
#include <complex>
#include <memory>
#include <vector>

#include "volumes/kernel.hpp"
#include "volumes/plan.hpp"

namespace convolume {

struct ResolvedProblem {
    KernelFacts kernel;
    std::shared_ptr<const Volume>
        taps;  ///< ready for engines, trimmed as the problem's windows say
    Problem problem;
    Shape3 input_shape;   ///< what an execution takes
    Shape3 output_shape;  ///< and gives
    double subtract = 0;  ///< constant boundary: from the input, and added to the result
    std::complex<double> add = 0;
    /// An adjoint whose boundary continues the image: `problem` gives the continued image, which is
    /// folded back. Source of every sample of the continued image, along each axis.
    bool folds = false;
    std::array<std::vector<index_t>, 3> fold_sources;
};

/// Throws InvalidArgument and BadData as Convolver's constructor does.
ResolvedProblem resolve_problem(const Shape3& image, const ConstImageView& kernel,
                                const Options& options, PixelType image_type,
                                PixelType output_type);

}  // namespace convolume
