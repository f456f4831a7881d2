// SPDX-License-Identifier: Apache-2.0
#pragma once
// Complex numbers for CUDA kernels and host code, laid out like std::complex, and macros that make
// a function compile for both.

#ifdef __CUDACC__
#define CONVOLUME_DEVICE __host__ __device__ __forceinline__
#define CONVOLUME_CONSTEXPR __host__ __device__ constexpr
#define CONVOLUME_UNROLL _Pragma("unroll")
#define CONVOLUME_UNROLL_4 _Pragma("unroll 4")
#define CONVOLUME_NO_UNROLL _Pragma("unroll 1")
#define CONVOLUME_NOINLINE __host__ __device__ __noinline__
#else
#define CONVOLUME_DEVICE inline
#define CONVOLUME_CONSTEXPR constexpr
#define CONVOLUME_UNROLL
#define CONVOLUME_UNROLL_4
#define CONVOLUME_NO_UNROLL
#define CONVOLUME_NOINLINE inline
#endif

namespace convolume::gpu {

/// A complex number re + i im.
template <class Real>
struct alignas(2 * sizeof(Real)) Complex {
    Real re, im;
};

template <class Real>
CONVOLUME_DEVICE constexpr Complex<Real> operator+(Complex<Real> a, Complex<Real> b) {
    return {a.re + b.re, a.im + b.im};
}
template <class Real>
CONVOLUME_DEVICE constexpr Complex<Real> operator-(Complex<Real> a, Complex<Real> b) {
    return {a.re - b.re, a.im - b.im};
}
template <class Real>
CONVOLUME_DEVICE constexpr Complex<Real> operator*(Complex<Real> a, Complex<Real> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class Real>
CONVOLUME_DEVICE constexpr Complex<Real> operator*(Real a, Complex<Real> b) {
    return {a * b.re, a * b.im};
}
/// Returns a with its imaginary part negated.
template <class Real>
CONVOLUME_DEVICE constexpr Complex<Real> conjugate(Complex<Real> a) {
    return {a.re, -a.im};
}
/// Returns a·i.
template <class Real>
CONVOLUME_DEVICE constexpr Complex<Real> times_i(Complex<Real> a) {
    return {-a.im, a.re};
}

/// Adds a·b to `sum`.
template <class Real>
CONVOLUME_DEVICE void multiply_add(Real& sum, Real a, Real b) {
    sum += a * b;
}
template <class Real>
CONVOLUME_DEVICE void multiply_add(Complex<Real>& sum, Real a, Complex<Real> b) {
    sum.re += a * b.re;
    sum.im += a * b.im;
}
template <class Real>
CONVOLUME_DEVICE void multiply_add(Complex<Real>& sum, Complex<Real> a, Complex<Real> b) {
    sum.re += a.re * b.re;
    sum.im += a.re * b.im;
    sum.re -= a.im * b.im;
    sum.im += a.im * b.re;
}

/// N complex numbers. They are in registers if every index is known at compile time.
template <class Real, int N>
struct Samples {
    Complex<Real> values[static_cast<unsigned>(N)];

    CONVOLUME_DEVICE constexpr Complex<Real>& operator[](int i) { return values[i]; }
    CONVOLUME_DEVICE constexpr const Complex<Real>& operator[](int i) const { return values[i]; }
};

}  // namespace convolume::gpu
