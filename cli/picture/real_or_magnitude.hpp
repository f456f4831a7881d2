// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>

namespace convolume::cli {

/// A pixel as one real number: complex pixels by their magnitude.
template <class T>
double real_or_magnitude(T value) {
    return static_cast<double>(value);
}
template <class T>
double real_or_magnitude(std::complex<T> value) {
    return static_cast<double>(std::abs(value));
}

}  // namespace convolume::cli
