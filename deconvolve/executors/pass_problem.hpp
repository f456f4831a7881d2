// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "convolume/volume.hpp"
#include "deconvolve/executors/plane_passes.hpp"
#include "deconvolve/problem.hpp"

// Which deconvolutions go by passes, and what passes need to know of them.
namespace convolume::deconvolve {

/// Axes without grids; nothing where the edges have no passes. With at least so many taps along z,
/// as far as the object has planes: those added are 0.
std::optional<PairAxes> pass_axes(const DeconvolutionProblem& problem, index_t least_taps_z = 1);
/// With grids along y and x for whole planes; nothing where the lengths have no passes.
std::optional<PairAxes> whole_plane_axes(const DeconvolutionProblem& problem, int device,
                                         index_t least_taps_z = 1);

/// The PSF and, where there is one, the taps of the unmatched back projector, as float32 with a sum
/// of 1.
class PassKernels {
  public:
    PassKernels(const DeconvolutionProblem& problem, const PairAxes& axes);
    std::vector<ConstImageView> views() const;

  private:
    std::vector<Volume> kernels_;
};

}  // namespace convolume::deconvolve
