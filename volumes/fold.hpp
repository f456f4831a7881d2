// SPDX-License-Identifier: Apache-2.0
#pragma once
// The adjoint of continuing an image by its boundary: what was copied outward is summed back.

#include <array>
#include <vector>

#include "core/engine.hpp"
#include "core/pixels/rows.hpp"

namespace convolume {

/// target(k) = Σ extended(i) over all i with sources[axis][i] = k on every axis. `extended` is
/// contiguous float32/64 or complex; the target may be of any type that holds its kind.
ClampCount fold(const ConstImageView& extended, const std::array<std::vector<index_t>, 3>& sources,
                const ImageView& target, int threads);

}  // namespace convolume
