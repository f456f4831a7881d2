// SPDX-License-Identifier: Apache-2.0
#pragma once
// How close a result must be to the oracle's.
//
// A Fourier convolution spreads rounding errors evenly: every output gets an error of about
// u sqrt(log2 N) |h|₂ rms(f), u the unit roundoff (6e-8, 1.1e-16) and N the grid's size; sums in
// space err less. Three transforms of up to 2^40 points stay below 14 u, so the bounds are
// 1e-6 = 17 u in float32 and 1e-14 = 90 u in float64 (where twiddles and rounded inputs share it),
// relative to the result's L2 norm. A handful of outputs may cancel far below |h|₂ rms(f), of which
// the error knows nothing: the norm of the result is therefore taken as at least
// sqrt(outputs) |h|₂ rms(f).

#include <string>

#include "tests/support/array.hpp"

namespace convolume::testing {

constexpr double tolerance(Precision precision) {
    return precision == Precision::float32 ? 1e-6 : 1e-14;
}

/// The least norm a result of `outputs` voxels is given (see above). `beyond` is the value of a
/// constant boundary.
double norm_floor(const Array& image, const Array& kernel, index_t outputs, double beyond = 0);

struct Comparison {
    double error;        ///< relative L2; NaN where the result is not finite
    std::string report;  ///< the error and the worst voxels

    bool within(Precision precision) const { return error < tolerance(precision); }
};
Comparison compare(const Array& want, const Array& got, double floor = 0);

/// Whether extents and values are the same.
bool same(const Array& a, const Array& b);

}  // namespace convolume::testing
