// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of roots of unity that kernels read, computed on the host.

#include <cmath>
#include <vector>

#include "convolume/cuda/detail/complex.hpp"
#include "gpu/fft/plan.hpp"

namespace convolume::gpu {

/// e^{-2πi k/n}, correctly rounded but for a few.
template <class Real>
Complex<Real> root_of_unity(long k, long n) {
    const long double angle = -2 * 3.14159265358979323846264338328L *
                              static_cast<long double>(k % n) / static_cast<long double>(n);
    return {static_cast<Real>(std::cos(angle)), static_cast<Real>(std::sin(angle))};
}

/// What Stages reads: sample i > 0 of butterfly u of stage 0 at (i-1)·width + u, then likewise of
/// stage 1.
template <class Real>
std::vector<Complex<Real>> plan_twiddles(const Plan& plan) {
    std::vector<Complex<Real>> table;
    int n = plan.n;
    for (int stage = 0; stage + 1 < plan.stages; ++stage) {
        const int width = n / plan.radix[stage];
        for (int i = 1; i < plan.radix[stage]; ++i)
            for (int u = 0; u < width; ++u) table.push_back(root_of_unity<Real>(1L * i * u, n));
        n = width;
    }
    return table;
}

/// What splits and merges of n pairs read: e^{-2πi k/2n}, k <= n/2.
template <class Real>
std::vector<Complex<Real>> pair_twiddles(int n) {
    std::vector<Complex<Real>> table;
    for (int k = 0; k <= n / 2; ++k) table.push_back(root_of_unity<Real>(k, 2L * n));
    return table;
}

}  // namespace convolume::gpu
