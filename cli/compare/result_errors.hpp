// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors of a result beside a reference.

#include "convolume/image_view.hpp"

namespace convolume::cli {

/// Errors of a result A beside a reference B that is taken to be right.
struct ResultErrors {
    /// δ = max |A − B|, after Karas and Svoboda, EURASIP J. Adv. Signal Process. 2011:120.
    double largest = 0;
    double relative_largest = 0;   ///< relative L∞: max |A − B| / max |B|
    double relative_l2 = 0;        ///< ‖A − B‖₂ / ‖B‖₂
    double psnr_db = 0;            ///< 20 log₁₀(max |B| / RMS(A − B)); infinite if A = B
    Index3 worst;                  ///< first sample at which |A − B| is largest
    index_t nonfinite = 0;         ///< samples whose difference is infinite or NaN
    double reference_largest = 0;  ///< max |B|
};

/// Computes the errors of `a` beside `b`, images of any types and strides. Relative figures are
/// infinite if B is zero and A is not. If samples are not finite, all figures but PSNR are
/// infinite. Throws InvalidArgument for different shapes.
ResultErrors errors_of(const ConstImageView& a, const ConstImageView& b);

}  // namespace convolume::cli
