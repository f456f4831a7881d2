// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many photons a pixel's value stands for, seen from the image's own noise.

#include <optional>

#include "convolume/deconvolver.hpp"

namespace convolume::deconvolve {

/// The line variance = (mean - offset) / gain through the noise of pixels of one brightness each.
/// Noise is what second differences along all axes of at least 3 samples leave, the median of their
/// squares for pixels of like brightness (means over 5 samples an axis): blurred objects hardly
/// have such differences. Read noise counts as light, by a lower offset. Nothing where the noise
/// does not grow with brightness. From at most half a million pixels, evenly spaced.
std::optional<PhotonScale> estimate_photon_scale(const ConstImageView& image, int threads);

}  // namespace convolume::deconvolve
