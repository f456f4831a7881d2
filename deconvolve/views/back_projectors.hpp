// SPDX-License-Identifier: Apache-2.0
#pragma once
// The back projectors of efficient updates of views (ViewUpdates::efficient).

#include "convolume/forward_model.hpp"
#include "convolume/volume.hpp"

namespace convolume::deconvolve {

/// Returns the PSF by which view v is projected back, in its own voxels:
///
///     P_v · Π_w (P_v ∗ P_w ∗ P_w*)
///
/// over all other views w, with the extents and the center of P_v, in float32. The adjoint of its
/// convolution is that of ViewUpdates::efficient. Views have one PSF each. The scale is arbitrary.
/// Throws BadData if nothing is left of the product.
Volume back_projector(const std::vector<View>& views, std::size_t v, int threads);

}  // namespace convolume::deconvolve
