// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transforms of cuFFTDx by a thread block, and products of their samples.

#include <cufftdx.hpp>
#include <string>

namespace convolume::peers {

template <class Complex>
__device__ Complex product(const Complex& a, const float2& b) {
    return Complex(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/// The architecture that cuFFTDx compiles for, as in SM<900>. H100 and H200 have 900.
#ifndef CONVOLUME_CUFFTDX_SM
#define CONVOLUME_CUFFTDX_SM 900
#endif

template <unsigned Length, unsigned Elements>
using BlockTransform =
    decltype(cufftdx::Block() + cufftdx::Size<Length>() + cufftdx::Precision<float>() +
             cufftdx::ElementsPerThread<Elements>() + cufftdx::SM<CONVOLUME_CUFFTDX_SM>());

inline std::string cufftdx_name() {
    return "cuFFTDx " + std::to_string(CUFFTDX_VERSION / 10000) + "." +
           std::to_string(CUFFTDX_VERSION / 100 % 100);
}

}  // namespace convolume::peers
