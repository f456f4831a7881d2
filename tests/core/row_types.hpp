// SPDX-License-Identifier: Apache-2.0
#pragma once
// Traits of the element types of rows: their real type, and whether they are complex.

#include <complex>

namespace convolume::testing {

template <class T>
struct ElementTraits {
    using Real = T;
    static constexpr bool is_complex = false;
};
template <class T>
struct ElementTraits<std::complex<T>> {
    using Real = T;
    static constexpr bool is_complex = true;
};

template <class T>
using RealOf = typename ElementTraits<T>::Real;
template <class T>
inline constexpr bool is_complex_type = ElementTraits<T>::is_complex;

}  // namespace convolume::testing
