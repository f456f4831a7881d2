// SPDX-License-Identifier: Apache-2.0
#include "cpu/volumes/vector_loops.hpp"

#include "core/instruction_sets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/volumes/vector_loops.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must be included first
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convolume::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <bool conjugate, class Real>
void multiply(const Real* HWY_RESTRICT kernel, Real* HWY_RESTRICT image, index_t count) {
    const hn::ScalableTag<Real> tag;
    const auto lanes = static_cast<index_t>(hn::Lanes(tag));
    index_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        hn::Vec<decltype(tag)> kernel_re, kernel_im, image_re, image_im;
        hn::LoadInterleaved2(tag, kernel + 2 * i, kernel_re, kernel_im);
        if constexpr (conjugate) kernel_im = hn::Neg(kernel_im);
        hn::LoadInterleaved2(tag, image + 2 * i, image_re, image_im);
        const auto re = hn::NegMulAdd(kernel_im, image_im, hn::Mul(kernel_re, image_re));
        const auto im = hn::MulAdd(kernel_im, image_re, hn::Mul(kernel_re, image_im));
        hn::StoreInterleaved2(re, im, tag, image + 2 * i);
    }
    for (; i < count; ++i) {
        const Real kernel_re = kernel[2 * i];
        const Real kernel_im = conjugate ? -kernel[2 * i + 1] : kernel[2 * i + 1];
        const Real re = kernel_re * image[2 * i] - kernel_im * image[2 * i + 1];
        const Real im = kernel_re * image[2 * i + 1] + kernel_im * image[2 * i];
        image[2 * i] = re;
        image[2 * i + 1] = im;
    }
}

// Computes `vectors` vectors of results. Several sums side by side hide the latency of additions.
template <std::size_t vectors, class Real>
HWY_INLINE void correlate_vectors(const Real* const* rows, index_t row_count, const Real* taps,
                                  index_t taps_per_row, bool accumulate, Real* out, index_t begin) {
    const hn::ScalableTag<Real> tag;
    const auto lanes = static_cast<index_t>(hn::Lanes(tag));
    hn::Vec<decltype(tag)> sums[vectors];
    for (std::size_t v = 0; v < vectors; ++v) sums[v] = hn::Zero(tag);
    for (index_t r = 0; r < row_count; ++r) {
        const Real* const row = rows[r] + begin;
        for (index_t j = 0; j < taps_per_row; ++j) {
            const auto tap = hn::Set(tag, taps[r * taps_per_row + j]);
            for (std::size_t v = 0; v < vectors; ++v)
                sums[v] = hn::MulAdd(tap, hn::LoadU(tag, row + j + static_cast<index_t>(v) * lanes),
                                     sums[v]);
        }
    }
    for (std::size_t v = 0; v < vectors; ++v) {
        Real* const target = out + begin + static_cast<index_t>(v) * lanes;
        hn::StoreU(accumulate ? hn::Add(sums[v], hn::LoadU(tag, target)) : sums[v], tag, target);
    }
}

template <class Real>
void correlate_rows(const Real* const* rows, index_t row_count, const Real* taps,
                    index_t taps_per_row, bool accumulate, Real* out, index_t count) {
    const hn::ScalableTag<Real> tag;
    const auto lanes = static_cast<index_t>(hn::Lanes(tag));
    index_t i = 0;
    for (; i + 8 * lanes <= count; i += 8 * lanes)
        correlate_vectors<8>(rows, row_count, taps, taps_per_row, accumulate, out, i);
    for (; i < count; i += lanes)
        correlate_vectors<1>(rows, row_count, taps, taps_per_row, accumulate, out, i);
}

// The function of each loop and precision, for HWY_EXPORT, which takes no templates.
static constexpr auto& multiply_float = multiply<false, float>;
static constexpr auto& multiply_conjugate_float = multiply<true, float>;
static constexpr auto& multiply_double = multiply<false, double>;
static constexpr auto& correlate_float = correlate_rows<float>;
static constexpr auto& correlate_double = correlate_rows<double>;

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::cpu {

HWY_EXPORT(multiply_float);
HWY_EXPORT(multiply_conjugate_float);
HWY_EXPORT(multiply_double);
HWY_EXPORT(correlate_float);
HWY_EXPORT(correlate_double);

void multiply(const std::complex<float>* kernel, std::complex<float>* image, index_t count) {
    HWY_DYNAMIC_DISPATCH(multiply_float)
    (reinterpret_cast<const float*>(kernel), reinterpret_cast<float*>(image), count);
}
void multiply(const std::complex<double>* kernel, std::complex<double>* image, index_t count) {
    HWY_DYNAMIC_DISPATCH(multiply_double)
    (reinterpret_cast<const double*>(kernel), reinterpret_cast<double*>(image), count);
}

void multiply_conjugate(const std::complex<float>* kernel, std::complex<float>* image,
                        index_t count) {
    HWY_DYNAMIC_DISPATCH(multiply_conjugate_float)
    (reinterpret_cast<const float*>(kernel), reinterpret_cast<float*>(image), count);
}

void correlate_rows(const float* const* rows, index_t row_count, const float* taps,
                    index_t taps_per_row, bool accumulate, float* out, index_t count) {
    HWY_DYNAMIC_DISPATCH(correlate_float)
    (rows, row_count, taps, taps_per_row, accumulate, out, count);
}
void correlate_rows(const double* const* rows, index_t row_count, const double* taps,
                    index_t taps_per_row, bool accumulate, double* out, index_t count) {
    HWY_DYNAMIC_DISPATCH(correlate_double)
    (rows, row_count, taps, taps_per_row, accumulate, out, count);
}

namespace {
// Complex sums in space are rare, so that the compiler's code suffices. Products are written out,
// since those of std::complex check for infinities.
template <class Real>
void correlate_complex(const std::complex<Real>* const* rows, index_t row_count,
                       const std::complex<Real>* taps, index_t taps_per_row, bool accumulate,
                       std::complex<Real>* out, index_t count) {
    for (index_t i = 0; i < count; ++i) {
        Real re = 0;
        Real im = 0;
        for (index_t r = 0; r < row_count; ++r)
            for (index_t j = 0; j < taps_per_row; ++j) {
                const std::complex<Real> tap = taps[r * taps_per_row + j];
                const std::complex<Real> sample = rows[r][i + j];
                re += tap.real() * sample.real() - tap.imag() * sample.imag();
                im += tap.real() * sample.imag() + tap.imag() * sample.real();
            }
        out[i] = accumulate ? out[i] + std::complex<Real>(re, im) : std::complex<Real>(re, im);
    }
}
}  // namespace

void correlate_rows(const std::complex<float>* const* rows, index_t row_count,
                    const std::complex<float>* taps, index_t taps_per_row, bool accumulate,
                    std::complex<float>* out, index_t count) {
    correlate_complex(rows, row_count, taps, taps_per_row, accumulate, out, count);
}
void correlate_rows(const std::complex<double>* const* rows, index_t row_count,
                    const std::complex<double>* taps, index_t taps_per_row, bool accumulate,
                    std::complex<double>* out, index_t count) {
    correlate_complex(rows, row_count, taps, taps_per_row, accumulate, out, count);
}

}  // namespace convolume::cpu
#endif
