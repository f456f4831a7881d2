// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reference transforms, random samples, and errors relative to them.

#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <vector>

#include "convolume/shape.hpp"
#include "tests/support/reference_fft.hpp"

namespace convolume::gpu {

using Signal = std::vector<std::complex<double>>;

using testing::forward_sign;
using testing::inverse_sign;
using testing::reference_transform;

template <class T>
std::vector<T> random_samples(index_t count, unsigned seed) {
    std::mt19937 engine(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<T> samples(static_cast<std::size_t>(count));
    for (T& sample : samples) {
        if constexpr (std::is_floating_point_v<T>) {
            sample = static_cast<T>(uniform(engine));
        } else {
            using Real = typename T::value_type;
            sample = {static_cast<Real>(uniform(engine)), static_cast<Real>(uniform(engine))};
        }
    }
    return samples;
}

/// Returns memory full of NaN (or a pattern), which must be written before it is read.
template <class T>
std::vector<T> poisoned(index_t count) {
    std::vector<T> memory(static_cast<std::size_t>(count));
    const auto nan = std::numeric_limits<double>::quiet_NaN();
    for (T& value : memory) {
        if constexpr (std::is_integral_v<T>) {
            value = static_cast<T>(0x5a5a5a5a);
        } else if constexpr (std::is_floating_point_v<T>) {
            value = static_cast<T>(nan);
        } else {
            using Real = typename T::value_type;
            value = {static_cast<Real>(nan), static_cast<Real>(nan)};
        }
    }
    return memory;
}

/// Relative L2 difference of two signals, from sums of |a - b|² and |b|².
class Difference {
  public:
    void add(std::complex<double> a, std::complex<double> b) {
        error_ += std::norm(a - b);
        norm_ += std::norm(b);
    }
    double relative() const { return norm_ > 0 ? std::sqrt(error_ / norm_) : std::sqrt(error_); }

  private:
    double error_ = 0, norm_ = 0;
};

/// Error allowed for a transform, or a pair of them: a few ulps, growing slowly with the length.
template <class Real>
double tolerance(index_t length) {
    const double ulp = sizeof(Real) == sizeof(float) ? 6e-8 : 1.2e-16;
    return ulp * (3 + std::log2(static_cast<double>(length) + 1));
}

}  // namespace convolume::gpu
