// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fourier transforms of any length in extended precision, as an oracle: recursion over the prime
// factors of the length, with direct sums for each of them. They share no code with the library.

#include <cmath>
#include <complex>
#include <cstddef>
#include <map>
#include <numbers>
#include <vector>

namespace convolume::testing {

namespace detail {

/// A complex number without the checks for infinities of std::complex.
struct Extended {
    long double re = 0, im = 0;
    Extended operator+(const Extended& b) const { return {re + b.re, im + b.im}; }
    Extended operator*(const Extended& b) const {
        return {re * b.re - im * b.im, re * b.im + im * b.re};
    }
};

/// Returns e^{-2πi k/length} for k = 0 … length - 1. Computed once for each length and thread.
inline const std::vector<Extended>& roots_of_unity(std::size_t length) {
    thread_local std::map<std::size_t, std::vector<Extended>> known;
    std::vector<Extended>& roots = known[length];
    for (std::size_t k = roots.size(); k < length; ++k) {
        const long double angle = -2 * std::numbers::pi_v<long double> *
                                  static_cast<long double>(k) / static_cast<long double>(length);
        roots.push_back({std::cos(angle), std::sin(angle)});
    }
    return roots;
}

/// Transforms the samples in[0], in[stride], … to out[0] … out[length - 1]. `roots` are those of
/// length * stride.
inline void transform_forward(const Extended* in, std::size_t stride, Extended* out,
                              std::size_t length, const std::vector<Extended>& roots) {
    if (length == 1) {
        *out = *in;
        return;
    }
    std::size_t prime = 2;
    while (length % prime != 0) ++prime;
    const std::size_t part = length / prime;
    for (std::size_t r = 0; r < prime; ++r)
        transform_forward(in + r * stride, stride * prime, out + r * part, part, roots);
    std::vector<Extended> terms(prime);
    for (std::size_t k = 0; k < part; ++k) {
        for (std::size_t r = 0; r < prime; ++r)
            terms[r] = out[r * part + k] * roots[r * k * stride];
        for (std::size_t q = 0; q < prime; ++q) {
            Extended sum = terms[0];
            for (std::size_t r = 1; r < prime; ++r)
                sum = sum + terms[r] * roots[q * r % prime * part * stride];
            out[q * part + k] = sum;
        }
    }
}

}  // namespace detail

inline constexpr int forward_sign = -1, inverse_sign = 1;

/// Returns the transform without normalization, Σ_n x[n] e^{sign 2πi nk/length}.
inline std::vector<std::complex<long double>> extended_transform(
    const std::vector<std::complex<long double>>& signal, int sign) {
    // An inverse transform is a forward one between conjugations.
    std::vector<detail::Extended> in, out(signal.size());
    for (const std::complex<long double>& x : signal) in.push_back({x.real(), -sign * x.imag()});
    detail::transform_forward(in.data(), 1, out.data(), in.size(),
                              detail::roots_of_unity(in.size()));
    std::vector<std::complex<long double>> result;
    for (const detail::Extended& x : out) result.emplace_back(x.re, -sign * x.im);
    return result;
}

/// Returns the same, rounded to double precision.
inline std::vector<std::complex<double>> reference_transform(
    const std::vector<std::complex<double>>& signal, int sign) {
    const auto extended = extended_transform({signal.begin(), signal.end()}, sign);
    return {extended.begin(), extended.end()};
}

}  // namespace convolume::testing
