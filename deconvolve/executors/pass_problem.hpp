// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "deconvolve/executors/plane_passes.hpp"
#include "deconvolve/problem.hpp"

// Axes and kernels of deconvolutions by passes on GPUs.
namespace convolume::deconvolve {

/// Returns the axes without grids, or nothing if passes cannot compute the convolution. Along z
/// there are at least `least_taps_z` taps, or as many as the object has planes; added taps are 0.
std::optional<PairAxes> pass_axes(const DeconvolutionProblem& problem, index_t least_taps_z = 1);
/// Returns the axes with grids along y and x for whole planes, or nothing if the lengths have no
/// passes.
std::optional<PairAxes> whole_plane_axes(const DeconvolutionProblem& problem, int device,
                                         index_t least_taps_z = 1);

/// Returns the PSFs and, if the method has one, the unmatched back projector's taps. The problem
/// owns them.
PlaneKernels pass_kernels(const DeconvolutionProblem& problem);

}  // namespace convolume::deconvolve
