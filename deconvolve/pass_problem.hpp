// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which deconvolutions go by passes, and what passes need to know of them.

#include <optional>

#include "convolume/volume.hpp"
#include "deconvolve/problem.hpp"
#include "gpu/volumes/plane_passes.hpp"

namespace convolume::deconvolve {

/// Axes with grids along y and x; nothing where the method or the lengths have no passes.
std::optional<gpu::PairAxes> pass_axes(const Problem& problem, int device);

/// The PSF as float32 with a sum of 1, in the last of `width` taps along x.
Volume normalized_taps(const Volume& psf, index_t width);

}  // namespace convolume::deconvolve
