// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far a result A is from another, B, that is taken to be right.

#include "convolume/image_view.hpp"

namespace convolume::cli {

struct Errors {
    /// δ = max |A − B|, after Karas and Svoboda, EURASIP J. Adv. Signal Process. 2011:120.
    double largest = 0;
    double relative_largest = 0;  ///< relative L∞: max |A − B| / max |B|
    double relative_l2 = 0;       ///< ‖A − B‖₂ / ‖B‖₂
    double psnr_db = 0;           ///< 20 log₁₀(max |B| / RMS(A − B)); infinite where A = B
    Index3 worst;                 ///< where |A − B| is largest; the first of several
    index_t nonfinite = 0;        ///< samples whose difference is infinite or NaN
};

/// Relative figures are infinite where B is zero and A is not; all but PSNR where samples are not
/// finite. Images of any types and strides. Throws InvalidArgument for different shapes.
Errors errors_of(const ConstImageView& a, const ConstImageView& b);

}  // namespace convolume::cli
