// SPDX-License-Identifier: Apache-2.0
#pragma once
// The type that data are computed in: real or complex samples of a precision.

#include <complex>

#include "convolume/image_view.hpp"
#include "convolume/options.hpp"

namespace convolume {

constexpr PixelType sample_type(Precision precision, bool complex_data) {
    if (precision == Precision::float32)
        return complex_data ? PixelType::complex64 : PixelType::float32;
    return complex_data ? PixelType::complex128 : PixelType::float64;
}

/// Bytes of one such sample.
inline index_t sample_bytes(Precision precision, bool complex_data) {
    return static_cast<index_t>(size_of(sample_type(precision, complex_data)));
}

namespace detail {
template <class Sample>
struct RealOf {
    using type = Sample;
};
template <class Real>
struct RealOf<std::complex<Real>> {
    using type = Real;
};
}  // namespace detail

/// The type of the parts of a sample: float of std::complex<float>, and of float.
template <class Sample>
using real_of = typename detail::RealOf<Sample>::type;

}  // namespace convolume
