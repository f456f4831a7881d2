// SPDX-License-Identifier: Apache-2.0
#pragma once
// Coarser images, and what their deconvolution is. A coarse pixel is the sum of two pixels along
// each of some axes, so that its photons still follow Poisson's distribution. A coarse voxel
// spreads its light over the fine ones by linear interpolation. With B and U for these two, the PSF
// of the coarse image is that of B A U: no approximation, but for pixels that are left over at the
// end of an axis.

#include <array>
#include <functional>
#include <optional>

#include "convolume/image_view.hpp"
#include "deconvolve/problem.hpp"

namespace convolume::deconvolve {

/// What a coarse image has of each pair of pixels.
struct Coarsening {
    std::array<bool, 3> halved{};  ///< along z, y, x

    bool any() const { return halved[0] || halved[1] || halved[2]; }
    index_t factor(int axis) const { return halved[static_cast<std::size_t>(axis)] ? 2 : 1; }
    index_t pixels() const { return factor(0) * factor(1) * factor(2); }  ///< of one coarse pixel
    Shape3 image(const Shape3& fine) const;
};

/// Along axes where the image is long enough, and where the PSF passes less than half of the
/// contrast of detail that the coarse pixels cannot show. `keeps_planes`: along z only where
/// neither y nor x is halved.
Coarsening coarsening_of(const Problem& fine, bool keeps_planes);

/// With the sums of pairs of the fine image as its image; a background that is known is that of so
/// many pixels.
Problem coarse_problem(const Problem& fine, const Coarsening& coarsening);

/// How photons are set apart before they are summed (Steps::hold_out).
struct Held {
    PhotonScale photons;
    int halvings = 0;  ///< 0: none are
};

/// What a coarse pixel holds where one of its fine pixels is not compared.
float coarse_saturation();

/// Sums of the image's pixels as iterations compare them: not negative, without photons that are
/// held. Returns how many coarse pixels are compared.
index_t sum_pixels(const ConstImageView& image, std::optional<double> saturation, const Held& held,
                   const Coarsening& coarsening, int threads, const ImageView& coarse);

/// Calls `write(values, first, count)` for the planes of the fine object: the coarse one spread by
/// linear interpolation, and at least `least`.
void spread(const ConstImageView& coarse, const Index3& coarse_at, const Coarsening& coarsening,
            const Shape3& object, const Index3& at, float least, int threads,
            const std::function<void(const float*, index_t, index_t)>& write);

}  // namespace convolume::deconvolve
