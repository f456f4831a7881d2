// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bounds on the distance between a result and the oracle's.
//
// A Fourier convolution spreads rounding errors evenly: every output gets an error of about
// u sqrt(log2 N) |h|₂ rms(f), u being the unit roundoff (6e-8, 1.1e-16) and N the size of the grid.
// Direct sums err less. Three transforms of up to 2^40 points stay below 14 u. The bounds are
// therefore 1e-6 = 17 u in float32, and 1e-14 = 90 u in float64, whose twiddles and rounded inputs
// err too, relative to the result's L2 norm. In a small result the terms may cancel far below
// |h|₂ rms(f), which does not make the errors smaller: the norm of the result is therefore taken as
// at least sqrt(outputs) |h|₂ rms(f).

#include <string>

#include "tests/support/array.hpp"

namespace convolume::testing {

constexpr double tolerance(Precision precision) {
    return precision == Precision::float32 ? 1e-6 : 1e-14;
}

/// Returns the least norm assumed for a result of `outputs` voxels (see above). `beyond` is the
/// value of a constant boundary.
double norm_floor(const Array& image, const Array& kernel, index_t outputs, double beyond = 0);

struct Comparison {
    double error;        ///< relative L2 error; NaN if the result is not finite
    std::string report;  ///< text with the error and the worst voxels

    bool within(Precision precision) const { return error < tolerance(precision); }
};
Comparison compare(const Array& want, const Array& got, double floor = 0);

/// Returns whether shapes and values are equal.
bool same(const Array& a, const Array& b);

}  // namespace convolume::testing
