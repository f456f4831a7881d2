// SPDX-License-Identifier: Apache-2.0
#pragma once
// Roots of unity for the tables of transforms.

#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

#include "convolume/shape.hpp"

namespace convolume::cpu {

/// Returns e^{2πi k/n} for k ≥ 0. Sine and cosine are computed of angles up to π/4, where they are
/// exact to about the last bit.
inline std::complex<double> root_of_unity(index_t k, index_t n) {
    k %= n;
    // In units of 1/8n of a turn, so that all reductions are exact.
    const index_t octant = 8 * k / n;
    const index_t rest = 8 * k - octant * n;
    const bool from_above = octant % 2 == 1;
    const double angle = static_cast<double>(from_above ? n - rest : rest) *
                         (std::numbers::pi / 4) / static_cast<double>(n);
    double re = std::cos(angle), im = std::sin(angle);
    if (from_above) std::swap(re, im);  // the mirror image at the diagonal
    switch (octant / 2) {
        case 0:
            return {re, im};
        case 1:
            return {-im, re};
        case 2:
            return {-re, -im};
        default:
            return {im, -re};
    }
}

}  // namespace convolume::cpu
