// SPDX-License-Identifier: Apache-2.0
#include "cpu/column_fft.hpp"

#include <cmath>
#include <numbers>
#include <utility>

#include "convolume/error.hpp"

// Vectors are kept in arrays, which scalable vectors do not allow. The disabled targets lie between
// enabled ones and gain nothing here.
#define HWY_DISABLED_TARGETS \
    (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/column_fft.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must be included first
#include <hwy/highway.h>

#ifndef CONVOLUME_COLUMN_FFT_ARGUMENTS
#define CONVOLUME_COLUMN_FFT_ARGUMENTS
namespace convolume::cpu::column_fft {

/// Arguments of a transform of columns. Strides are in real numbers.
template <class Real>
struct ColumnFftArguments {
    index_t length;
    const int* radices;
    index_t stages;
    const Real* twiddles;
    const Real* source;
    index_t source_stride, source_first, source_count;
    Real* target;
    index_t target_stride, target_first, target_count;
    Real* scratch;
    index_t columns;
    bool inverse;
};

/// A radix stage: `s` results of earlier stages lie side by side, and length `m` remains after the
/// stage.
template <class Real>
struct RadixStage {
    bool first, last;
    index_t s, m;
    const Real* twiddles;
    const Real* from;
    Real* to;
};

}  // namespace convolume::cpu::column_fft
#endif

HWY_BEFORE_NAMESPACE();
namespace convolume::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using column_fft::ColumnFftArguments;

template <class D>
struct ComplexVector {
    hn::Vec<D> re, im;
};

template <class D>
HWY_INLINE ComplexVector<D> add(const ComplexVector<D>& a, const ComplexVector<D>& b) {
    return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class D>
HWY_INLINE ComplexVector<D> subtract(const ComplexVector<D>& a, const ComplexVector<D>& b) {
    return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
/// Returns -i · a.
template <class D>
HWY_INLINE ComplexVector<D> times_minus_i(const ComplexVector<D>& a) {
    return {a.im, hn::Neg(a.re)};
}
template <class D>
HWY_INLINE ComplexVector<D> multiply(D d, const ComplexVector<D>& a, hn::TFromD<D> cosine,
                                     hn::TFromD<D> sine) {
    const auto re = hn::Set(d, cosine);
    const auto im = hn::Set(d, sine);
    return {hn::NegMulAdd(a.im, im, hn::Mul(a.re, re)), hn::MulAdd(a.im, re, hn::Mul(a.re, im))};
}

// The cosine and sine of 2πk/P for the odd radices.
template <int P, class Real>
constexpr Real cosine_of(int k) {
    constexpr double of3[] = {1, -0.5, -0.5};
    constexpr double of5[] = {1, 0.30901699437494742410, -0.80901699437494742410,
                              -0.80901699437494742410, 0.30901699437494742410};
    constexpr double of7[] = {1,
                              0.62348980185873353053,
                              -0.22252093395631440429,
                              -0.90096886790241912624,
                              -0.90096886790241912624,
                              -0.22252093395631440429,
                              0.62348980185873353053};
    return static_cast<Real>(P == 3 ? of3[k % 3] : P == 5 ? of5[k % 5] : of7[k % 7]);
}
template <int P, class Real>
constexpr Real sine_of(int k) {
    constexpr double of3[] = {0, 0.86602540378443864676, -0.86602540378443864676};
    constexpr double of5[] = {0, 0.95105651629515357212, 0.58778525229247312917,
                              -0.58778525229247312917, -0.95105651629515357212};
    constexpr double of7[] = {0,
                              0.78183148246802980871,
                              0.97492791218182360702,
                              0.43388373911755812048,
                              -0.43388373911755812048,
                              -0.97492791218182360702,
                              -0.78183148246802980871};
    return static_cast<Real>(P == 3 ? of3[k % 3] : P == 5 ? of5[k % 5] : of7[k % 7]);
}

/// Replaces x[k] by Σ_n x[n] e^{-2πi nk/Radix}.
template <int Radix, class D>
HWY_INLINE void dft(D d, ComplexVector<D>* x) {
    using Real = hn::TFromD<D>;
    if constexpr (Radix == 1) {
        return;
    } else if constexpr (Radix == 2) {
        const auto sum = add<D>(x[0], x[1]);
        x[1] = subtract<D>(x[0], x[1]);
        x[0] = sum;
    } else if constexpr (Radix == 4) {
        const auto a = add<D>(x[0], x[2]), b = subtract<D>(x[0], x[2]);
        const auto c = add<D>(x[1], x[3]);
        const auto e = times_minus_i<D>(subtract<D>(x[1], x[3]));
        x[0] = add<D>(a, c);
        x[1] = add<D>(b, e);
        x[2] = subtract<D>(a, c);
        x[3] = subtract<D>(b, e);
    } else if constexpr (Radix == 8) {
        ComplexVector<D> even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
        dft<4>(d, even);
        dft<4>(d, odd);
        constexpr Real half_root = static_cast<Real>(0.70710678118654752440);
        const auto half = hn::Set(d, half_root);
        odd[1] = {hn::Mul(half, hn::Add(odd[1].re, odd[1].im)),
                  hn::Mul(half, hn::Sub(odd[1].im, odd[1].re))};
        odd[2] = times_minus_i<D>(odd[2]);
        odd[3] = {hn::Mul(half, hn::Sub(odd[3].im, odd[3].re)),
                  hn::Neg(hn::Mul(half, hn::Add(odd[3].im, odd[3].re)))};
        for (int k = 0; k < 4; ++k) {
            x[k] = add<D>(even[k], odd[k]);
            x[k + 4] = subtract<D>(even[k], odd[k]);
        }
    } else {
        constexpr int half = (Radix - 1) / 2;
        ComplexVector<D> sum[static_cast<unsigned>(half)], difference[static_cast<unsigned>(half)];
        const ComplexVector<D> first = x[0];
        for (int j = 0; j < half; ++j) {
            sum[j] = add<D>(x[j + 1], x[Radix - 1 - j]);
            difference[j] = subtract<D>(x[j + 1], x[Radix - 1 - j]);
            x[0] = add<D>(x[0], sum[j]);
        }
        for (int k = 0; k < half; ++k) {
            ComplexVector<D> even = first;
            ComplexVector<D> odd{hn::Zero(d), hn::Zero(d)};
            for (int j = 0; j < half; ++j) {
                const auto c = hn::Set(d, cosine_of<Radix, Real>((j + 1) * (k + 1)));
                const auto s = hn::Set(d, sine_of<Radix, Real>((j + 1) * (k + 1)));
                even = {hn::MulAdd(c, sum[j].re, even.re), hn::MulAdd(c, sum[j].im, even.im)};
                odd = {hn::MulAdd(s, difference[j].re, odd.re),
                       hn::MulAdd(s, difference[j].im, odd.im)};
            }
            x[k + 1] = {hn::Add(even.re, odd.im), hn::Sub(even.im, odd.re)};
            x[Radix - 1 - k] = {hn::Sub(even.re, odd.im), hn::Add(even.im, odd.re)};
        }
    }
}

/// Computes one radix stage (see RadixStage). The first stage loads samples from the input columns,
/// and the last stage stores them to the output columns. In between they are in scratch memory,
/// where a row's real parts precede its imaginary parts. Inverse transforms swap real and imaginary
/// parts at both ends.
template <int Radix, index_t width, bool First, bool Last, bool Inverse, class Real>
HWY_INLINE void run_radix_stage(const ColumnFftArguments<Real>& arguments, index_t s, index_t m,
                                const Real* HWY_RESTRICT twiddles, const Real* from, Real* to) {
    const hn::CappedTag<Real, static_cast<std::size_t>(width)> d;
    using D = hn::CappedTag<Real, static_cast<std::size_t>(width)>;
    const auto lanes = static_cast<index_t>(hn::Lanes(d));
    const auto load = [&](index_t row, index_t column) HWY_ATTR -> ComplexVector<D> {
        ComplexVector<D> value;
        if constexpr (First) {
            row -= arguments.source_first;
            if (row < 0 || row >= arguments.source_count) return {hn::Zero(d), hn::Zero(d)};
            const Real* const at = arguments.source + row * arguments.source_stride + 2 * column;
            if constexpr (Inverse)
                hn::LoadInterleaved2(d, at, value.im, value.re);
            else
                hn::LoadInterleaved2(d, at, value.re, value.im);
        } else {
            const Real* const at = from + row * 2 * width + column;
            value.re = hn::Load(d, at);
            value.im = hn::Load(d, at + width);
        }
        return value;
    };
    const auto store = [&](index_t row, index_t column, const ComplexVector<D>& value) HWY_ATTR {
        if constexpr (Last) {
            row -= arguments.target_first;
            if (row < 0 || row >= arguments.target_count) return;
            Real* const at = arguments.target + row * arguments.target_stride + 2 * column;
            if constexpr (Inverse)
                hn::StoreInterleaved2(value.im, value.re, d, at);
            else
                hn::StoreInterleaved2(value.re, value.im, d, at);
        } else {
            Real* const at = to + row * 2 * width + column;
            hn::Store(value.re, d, at);
            hn::Store(value.im, d, at + width);
        }
    };
    for (index_t p = 0; p < m; ++p, twiddles += 2 * (Radix - 1)) {
        for (index_t q = 0; q < s; ++q) {
            for (index_t column = 0; column < width; column += lanes) {
                ComplexVector<D> x[static_cast<unsigned>(Radix)];
                for (int i = 0; i < Radix; ++i) x[i] = load(q + s * (p + m * i), column);
                dft<Radix>(d, x);
                store(q + s * Radix * p, column, x[0]);
                for (int k = 1; k < Radix; ++k) {
                    if constexpr (!Last)
                        x[k] = multiply(d, x[k], twiddles[2 * (k - 1)], twiddles[2 * (k - 1) + 1]);
                    store(q + s * (Radix * p + k), column, x[k]);
                }
            }
        }
    }
}

template <int Radix, index_t width, bool Inverse, class Real>
void run_radix_stage(const ColumnFftArguments<Real>& arguments,
                     const column_fft::RadixStage<Real>& stage) {
    const auto& [first, last, s, m, twiddles, from, to] = stage;
    if (first && last)
        run_radix_stage<Radix, width, true, true, Inverse>(arguments, s, m, twiddles, from, to);
    else if (first)
        run_radix_stage<Radix, width, true, false, Inverse>(arguments, s, m, twiddles, from, to);
    else if (last)
        run_radix_stage<Radix, width, false, true, Inverse>(arguments, s, m, twiddles, from, to);
    else
        run_radix_stage<Radix, width, false, false, false>(arguments, s, m, twiddles, from, to);
}

template <index_t width, bool Inverse, class Real>
void transform(const ColumnFftArguments<Real>& arguments) {
    Real* from = arguments.scratch;
    Real* to = arguments.scratch + 2 * arguments.length * width;
    const Real* twiddles = arguments.twiddles;
    index_t s = 1, rest = arguments.length;
    for (index_t stage = 0; stage < arguments.stages; ++stage) {
        const int radix = arguments.radices[stage];
        const index_t m = rest / radix;
        const column_fft::RadixStage<Real> radix_stage{
            stage == 0, stage + 1 == arguments.stages, s, m, twiddles, from, to};
        switch (radix) {
            case 1:
                run_radix_stage<1, width, Inverse>(arguments, radix_stage);
                break;
            case 2:
                run_radix_stage<2, width, Inverse>(arguments, radix_stage);
                break;
            case 3:
                run_radix_stage<3, width, Inverse>(arguments, radix_stage);
                break;
            case 4:
                run_radix_stage<4, width, Inverse>(arguments, radix_stage);
                break;
            case 5:
                run_radix_stage<5, width, Inverse>(arguments, radix_stage);
                break;
            case 7:
                run_radix_stage<7, width, Inverse>(arguments, radix_stage);
                break;
            default:
                run_radix_stage<8, width, Inverse>(arguments, radix_stage);
        }
        twiddles += 2 * m * (radix - 1);
        s *= radix;
        rest = m;
        std::swap(from, to);
    }
}

template <class Real>
void transform(const ColumnFftArguments<Real>& arguments) {
    constexpr index_t most = ColumnFft<Real>::most_columns,
                      least = ColumnFft<Real>::column_multiple;
    if (arguments.columns == most)
        arguments.inverse ? transform<most, true>(arguments) : transform<most, false>(arguments);
    else
        arguments.inverse ? transform<least, true>(arguments) : transform<least, false>(arguments);
}

void transform_float(const ColumnFftArguments<float>& arguments) {
    transform(arguments);
}
void transform_double(const ColumnFftArguments<double>& arguments) {
    transform(arguments);
}

}  // namespace convolume::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::cpu {

namespace {

HWY_EXPORT(transform_float);
HWY_EXPORT(transform_double);

void dispatch(const column_fft::ColumnFftArguments<float>& arguments) {
    HWY_DYNAMIC_DISPATCH(transform_float)(arguments);
}
void dispatch(const column_fft::ColumnFftArguments<double>& arguments) {
    HWY_DYNAMIC_DISPATCH(transform_double)(arguments);
}

/// Returns the radices whose product is `length`; empty if a prime factor exceeds 7.
std::vector<int> radices_of(index_t length) {
    if (length == 1) return {1};
    std::vector<int> radices;
    for (const int radix : {7, 5, 3, 8, 4, 2}) {
        while (length % radix == 0) {
            if (radix == 8 && length == 16) break;  // 16 is 4 · 4 rather than 8 · 2
            radices.push_back(radix);
            length /= radix;
        }
    }
    if (length != 1) radices.clear();
    return radices;
}

}  // namespace

template <class Real>
ColumnFft<Real>::ColumnFft(index_t length) : length_(length) {
    if (length > 0) radices_ = radices_of(length);
    if (radices_.empty())
        throw InvalidArgument(
            message("no transform of columns of ", length,
                    " samples: lengths are positive and have no prime factor above 7"));
    index_t rest = length;
    for (const int radix : radices_) {
        const index_t m = rest / radix;
        for (index_t p = 0; p < m; ++p) {
            for (int k = 1; k < radix; ++k) {
                // The angle is below one turn, since p · k < rest. There cos and sin are exact to
                // about the last bit.
                const double angle =
                    -2 * std::numbers::pi * static_cast<double>(p * k) / static_cast<double>(rest);
                twiddles_.push_back(static_cast<Real>(std::cos(angle)));
                twiddles_.push_back(static_cast<Real>(std::sin(angle)));
            }
        }
        rest = m;
    }
}

template <class Real>
void ColumnFft<Real>::forward(const InputColumns& source, const OutputColumns& target,
                              index_t columns, Complex* scratch) const {
    transform(false, source, target, columns, scratch);
}

template <class Real>
void ColumnFft<Real>::inverse(const InputColumns& source, const OutputColumns& target,
                              index_t columns, Complex* scratch) const {
    transform(true, source, target, columns, scratch);
}

template <class Real>
void ColumnFft<Real>::transform(bool inverse, const InputColumns& source,
                                const OutputColumns& target, index_t columns,
                                Complex* scratch) const {
    if (columns != most_columns && columns != column_multiple)
        throw InternalError(message("a transform of ", columns, " columns"));
    dispatch(column_fft::ColumnFftArguments<Real>{
        length_, radices_.data(), static_cast<index_t>(radices_.size()), twiddles_.data(),
        reinterpret_cast<const Real*>(source.data), 2 * source.stride, source.first, source.count,
        reinterpret_cast<Real*>(target.data), 2 * target.stride, target.first, target.count,
        reinterpret_cast<Real*>(scratch), columns, inverse});
}

template class ColumnFft<float>;
template class ColumnFft<double>;

}  // namespace convolume::cpu
#endif
