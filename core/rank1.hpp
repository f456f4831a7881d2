// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels that are products of three 1D kernels (rank 1), such as Gaussians and boxes.

#include <array>
#include <optional>
#include <vector>

#include "convolume/image_view.hpp"
#include "convolume/options.hpp"

namespace convolume {

/// Factors of a kernel of rank 1:
///     h(z, y, x) = factors[0][z] · factors[1][y] · factors[2][x]
struct RankOne {
    std::array<std::vector<double>, 3> factors;
};

/// Returns the factors of a real kernel if their product equals the kernel within the rounding of
/// `precision`: relative L2 distance below 1e-7 (float32) or 1e-15 (float64). The method is
/// alternating least squares from the kernel's peak (De Lathauwer, De Moor, Vandewalle, SIAM J.
/// Matrix Anal. Appl. 21, 2000, the rank-1 case). `peak` is the index of a largest magnitude; it is
/// searched if it is outside the kernel.
std::optional<RankOne> factor_rank1(const ConstImageView& kernel, Precision precision,
                                    const Index3& peak = {-1, -1, -1});

}  // namespace convolume
