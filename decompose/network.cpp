// SPDX-License-Identifier: Apache-2.0
#include "decompose/network.hpp"

#include "core/pixels/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "decompose/network.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convolume::decompose::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Rows in and out of vectors

template <class D>
struct Complex {
    hn::Vec<D> re;
    hn::Vec<D> im;
};

/// Asks for what the row holds a few lines on: up to 32 rows are read at once, more than hardware
/// follows by itself.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_row(D d, const T* in) {
    constexpr std::size_t bytes_ahead = 256;
    hwy::Prefetch(in + bytes_ahead / sizeof(T));
    return hn::LoadU(d, in);
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store(D d, hn::Vec<D> v, T* out, bool stream) {
    if (stream) {
        hn::Stream(v, d, out);
    } else {
        hn::StoreU(v, d, out);
    }
}

// Complex rows are taken apart and put together within 128-bit blocks, which is cheap, but leaves
// the samples of two vectors in an order of their own: that of the first half of the samples and of
// the second half, alternating in groups of half a vector. Butterflies do not mind.

#if HWY_TARGET == HWY_SCALAR
template <class D>
HWY_INLINE Complex<D> pair_up(D /*d*/, const Complex<D>& v) {
    return v;
}
template <class D>
HWY_INLINE Complex<D> take_apart(D /*d*/, const Complex<D>& v) {
    return v;
}
#else
template <class D>
HWY_INLINE Complex<D> pair_up(D d, const Complex<D>& v) {
    return {hn::InterleaveLower(d, v.re, v.im), hn::InterleaveUpper(d, v.re, v.im)};
}
template <class D>
HWY_INLINE Complex<D> take_apart(D d, const Complex<D>& v) {
    const Complex<D> once = pair_up(d, v);
    if constexpr (sizeof(hn::TFromD<D>) == 8) return once;
    return pair_up(d, once);
}
#endif

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store(D d, const Complex<D>& v, T* out, bool stream) {
    const Complex<D> memory = pair_up(d, v);
    store(d, memory.re, out, stream);
    store(d, memory.im, out + hn::Lanes(d), stream);
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE Complex<D> load_complex_row(D d, const T* in) {
    return take_apart(d, Complex<D>{load_row(d, in), load_row(d, in + hn::Lanes(d))});
}

/// Brings real rows into the order of complex ones, and back.
template <class D>
class LaneOrder {
  public:
    explicit LaneOrder(D d) {
        constexpr Index piece = lanes * sizeof(T) <= 16 ? lanes : 8 / sizeof(T);
        Index there[lanes];
        Index back[lanes];
        for (Index i = 0; i < lanes; ++i) {
            const Index group = i / piece;
            there[i] = lanes <= piece ? i : group / 2 * piece + i % piece + group % 2 * (lanes / 2);
            back[there[i]] = i;
        }
        there_ = hn::SetTableIndices(d, there);
        back_ = hn::SetTableIndices(d, back);
    }
    HWY_INLINE hn::Vec<D> complex_order(hn::Vec<D> v) const {
        if constexpr (lanes * sizeof(T) <= 16) return v;
        return hn::TableLookupLanes(v, there_);
    }
    HWY_INLINE hn::Vec<D> memory_order(hn::Vec<D> v) const {
        if constexpr (lanes * sizeof(T) <= 16) return v;
        return hn::TableLookupLanes(v, back_);
    }

  private:
    using T = hn::TFromD<D>;
    using Index = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    static constexpr Index lanes = hn::MaxLanes(D());
    using Table = decltype(hn::SetTableIndices(D(), static_cast<const Index*>(nullptr)));
    Table there_;
    Table back_;
};

// Butterflies on one vector of samples

/// cos(2π k/32).
constexpr double cosine32(std::size_t k) {
    constexpr double quarter[9] = {1.0,
                                   0.98078528040323044912618,
                                   0.92387953251128675612818,
                                   0.83146961230254523707879,
                                   0.70710678118654752440084,
                                   0.55557023301960222474283,
                                   0.38268343236508977172846,
                                   0.19509032201612826784829,
                                   0.0};
    k %= 32;
    if (k > 16) k = 32 - k;
    return k <= 8 ? quarter[k] : -quarter[16 - k];
}
constexpr double sine32(std::size_t k) {
    return cosine32(k + 24);
}

template <class D>
HWY_INLINE Complex<D> add(const Complex<D>& a, const Complex<D>& b) {
    return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class D>
HWY_INLINE Complex<D> subtract(const Complex<D>& a, const Complex<D>& b) {
    return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
template <class D>
HWY_INLINE Complex<D> multiply(D d, const Complex<D>& a, std::complex<hn::TFromD<D>> factor) {
    const auto re = hn::Set(d, factor.real());
    const auto im = hn::Set(d, factor.imag());
    return {hn::NegMulAdd(a.im, im, hn::Mul(a.re, re)), hn::MulAdd(a.im, re, hn::Mul(a.re, im))};
}

/// a · e^{∓2πi k/32}, minus for the forward direction; k is known once loops are unrolled.
template <bool Inverse, class D>
HWY_INLINE Complex<D> rotate(D d, const Complex<D>& a, std::size_t k) {
    using T = hn::TFromD<D>;
    k = (Inverse ? k : 32 - k) % 32;
    if (k == 0) return a;
    if (k == 8) return {hn::Neg(a.im), a.re};
    if (k == 16) return {hn::Neg(a.re), hn::Neg(a.im)};
    if (k == 24) return {a.im, hn::Neg(a.re)};
    return multiply(d, a, {static_cast<T>(cosine32(k)), static_cast<T>(sine32(k))});
}

/// DFT of Size values in natural order: radix 2 and 4, 8 = 4∘2, 16 = 4∘4.
template <std::size_t Size, bool Inverse, class D>
HWY_INLINE void dft(D d, Complex<D>* x) {
    if constexpr (Size == 2) {
        const auto sum = add<D>(x[0], x[1]);
        x[1] = subtract<D>(x[0], x[1]);
        x[0] = sum;
    } else if constexpr (Size == 4) {
        const auto even_sum = add<D>(x[0], x[2]);
        const auto even_difference = subtract<D>(x[0], x[2]);
        const auto odd_sum = add<D>(x[1], x[3]);
        const auto odd_difference = rotate<Inverse>(d, subtract<D>(x[1], x[3]), 8);
        x[0] = add<D>(even_sum, odd_sum);
        x[1] = add<D>(even_difference, odd_difference);
        x[2] = subtract<D>(even_sum, odd_sum);
        x[3] = subtract<D>(even_difference, odd_difference);
    } else if constexpr (Size > 4) {
        constexpr std::size_t Outer = Size / 4;
        Complex<D> column[Outer][4];
#pragma GCC unroll 4
        for (std::size_t b = 0; b < Outer; ++b) {
#pragma GCC unroll 4
            for (std::size_t a = 0; a < 4; ++a) column[b][a] = x[Outer * a + b];
            dft<4, Inverse>(d, column[b]);
        }
#pragma GCC unroll 4
        for (std::size_t a = 0; a < 4; ++a) {
            Complex<D> row[Outer];
#pragma GCC unroll 4
            for (std::size_t b = 0; b < Outer; ++b) {
                row[b] = rotate<Inverse>(d, column[b][a], a * b * (32 / Size));
            }
            dft<Outer, Inverse>(d, row);
#pragma GCC unroll 4
            for (std::size_t b = 0; b < Outer; ++b) x[a + 4 * b] = row[b];
        }
    }
}

/// 2P real rows to two rows of the real part and P - 1 complex ones, by the rule of split.hpp.
template <std::size_t P, class D>
HWY_INLINE void split_real(D d, const hn::Vec<D>* x, hn::Vec<D>* real, Complex<D>* parts) {
    if constexpr (P == 1) {
        real[0] = x[0];
        real[1] = x[1];
    } else {
        hn::Vec<D> sum[P];
#pragma GCC unroll 16
        for (std::size_t q = 0; q < P; ++q) sum[q] = hn::Add(x[q], x[q + P]);
        Complex<D>* odd = parts + (P / 2 - 1);
#pragma GCC unroll 16
        for (std::size_t q = 0; q < P / 2; ++q) {
            const Complex<D> pair{hn::Sub(x[q], x[q + P]), hn::Sub(x[q + P + P / 2], x[q + P / 2])};
            odd[q] = rotate<false>(d, pair, q * (16 / P));
        }
        dft<P / 2, false>(d, odd);
        split_real<P / 2>(d, sum, real, parts);
    }
}

/// The inverse of split_real, times P.
template <std::size_t P, class D>
HWY_INLINE void merge_real(D d, const hn::Vec<D>* real, Complex<D>* parts, hn::Vec<D>* x) {
    if constexpr (P == 1) {
        x[0] = real[0];
        x[1] = real[1];
    } else {
        hn::Vec<D> sum[P];
        merge_real<P / 2>(d, real, parts, sum);
        Complex<D>* odd = parts + (P / 2 - 1);
        dft<P / 2, true>(d, odd);
#pragma GCC unroll 16
        for (std::size_t q = 0; q < P / 2; ++q) {
            const Complex<D> pair = rotate<true>(d, odd[q], q * (16 / P));
            const auto upper = sum[q + P / 2];
            x[q] = hn::Add(sum[q], pair.re);
            x[q + P] = hn::Sub(sum[q], pair.re);
            x[q + P / 2] = hn::Sub(upper, pair.im);
            x[q + P + P / 2] = hn::Add(upper, pair.im);
        }
    }
}

// Networks over rows

template <std::size_t P, class T>
void split_real_block(const PlaneFactors<T>& factors, const NetworkBlock<T>& block) {
    const hn::ScalableTag<T> d;
    using D = hn::ScalableTag<T>;
    const LaneOrder<D> order(d);
    for (index_t i = 0; i < block.samples; i += static_cast<index_t>(hn::Lanes(d))) {
        hn::Vec<D> x[2 * P];
        hn::Vec<D> real[2];
        Complex<D> parts[P - 1];
#pragma GCC unroll 32
        for (std::size_t q = 0; q < 2 * P; ++q) {
            x[q] = order.complex_order(load_row(d, block.in[q] + i));
        }
        split_real<P>(d, x, real, parts);
#pragma GCC unroll 2
        for (std::size_t q = 0; q < 2; ++q) {
            store(d, order.memory_order(real[q]), block.out[q] + i, block.stream[q]);
        }
#pragma GCC unroll 16
        for (std::size_t p = 1; p < P; ++p) {
            store(d, multiply(d, parts[p - 1], factors[p]), block.out[p + 1] + 2 * i,
                  block.stream[p + 1]);
        }
    }
}

template <std::size_t P, class T>
void merge_real_block(const PlaneFactors<T>& factors, const NetworkBlock<T>& block) {
    const hn::ScalableTag<T> d;
    using D = hn::ScalableTag<T>;
    const LaneOrder<D> order(d);
    const auto scale = hn::Set(d, factors[0].real());
    for (index_t i = 0; i < block.samples; i += static_cast<index_t>(hn::Lanes(d))) {
        hn::Vec<D> x[2 * P];
        hn::Vec<D> real[2];
        Complex<D> parts[P - 1];
#pragma GCC unroll 2
        for (std::size_t q = 0; q < 2; ++q) {
            real[q] = order.complex_order(hn::Mul(load_row(d, block.in[q] + i), scale));
        }
#pragma GCC unroll 16
        for (std::size_t p = 1; p < P; ++p) {
            parts[p - 1] = multiply(d, load_complex_row(d, block.in[p + 1] + 2 * i), factors[p]);
        }
        merge_real<P>(d, real, parts, x);
#pragma GCC unroll 32
        for (std::size_t q = 0; q < 2 * P; ++q) {
            store(d, order.memory_order(x[q]), block.out[q] + i, block.stream[q]);
        }
    }
}

template <std::size_t P, bool Inverse, class T>
void complex_block(const PlaneFactors<T>& factors, const NetworkBlock<T>& block) {
    const hn::ScalableTag<T> d;
    using D = hn::ScalableTag<T>;
    for (index_t i = 0; i < block.samples; i += static_cast<index_t>(hn::Lanes(d))) {
        Complex<D> x[P];
#pragma GCC unroll 16
        for (std::size_t p = 0; p < P; ++p) {
            x[p] = load_complex_row(d, block.in[p] + 2 * i);
            if constexpr (Inverse) x[p] = multiply(d, x[p], factors[p]);
        }
        dft<P, Inverse>(d, x);
#pragma GCC unroll 16
        for (std::size_t p = 0; p < P; ++p) {
            if constexpr (!Inverse) x[p] = multiply(d, x[p], factors[p]);
            store(d, x[p], block.out[p] + 2 * i, block.stream[p]);
        }
    }
}

template <class T>
void copy_block(index_t values, const NetworkBlock<T>& block) {
    const hn::ScalableTag<T> d;
    for (index_t i = 0; i < values; i += static_cast<index_t>(hn::Lanes(d))) {
        store(d, load_row(d, block.in[0] + i), block.out[0] + i, block.stream[0]);
    }
}

template <bool Inverse, class T>
void run_network(bool complex_data, int parts, const PlaneFactors<T>& factors,
                 const NetworkBlock<T>& block) {
    if (parts == 1) return copy_block(complex_data ? 2 * block.samples : block.samples, block);
    const auto run = [&](auto count) {
        constexpr std::size_t P = decltype(count)::value;
        if (complex_data) return complex_block<P, Inverse>(factors, block);
        if constexpr (Inverse)
            return merge_real_block<P>(factors, block);
        else
            return split_real_block<P>(factors, block);
    };
    switch (parts) {
        case 2:
            return run(std::integral_constant<std::size_t, 2>());
        case 4:
            return run(std::integral_constant<std::size_t, 4>());
        case 8:
            return run(std::integral_constant<std::size_t, 8>());
        default:
            return run(std::integral_constant<std::size_t, 16>());
    }
}

void split_float(bool complex_data, int parts, const PlaneFactors<float>& factors,
                 const NetworkBlock<float>& block) {
    run_network<false>(complex_data, parts, factors, block);
}
void split_double(bool complex_data, int parts, const PlaneFactors<double>& factors,
                  const NetworkBlock<double>& block) {
    run_network<false>(complex_data, parts, factors, block);
}
void merge_float(bool complex_data, int parts, const PlaneFactors<float>& factors,
                 const NetworkBlock<float>& block) {
    run_network<true>(complex_data, parts, factors, block);
}
void merge_double(bool complex_data, int parts, const PlaneFactors<double>& factors,
                  const NetworkBlock<double>& block) {
    run_network<true>(complex_data, parts, factors, block);
}

}  // namespace convolume::decompose::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::decompose {

NetworkRows network_rows(bool complex_data, int parts) {
    if (parts == 1 || complex_data) return {parts, parts};
    return {2 * parts, parts + 1};
}

HWY_EXPORT(split_float);
HWY_EXPORT(split_double);
HWY_EXPORT(merge_float);
HWY_EXPORT(merge_double);

template <>
void split_block(bool complex_data, int parts, const PlaneFactors<float>& factors,
                 const NetworkBlock<float>& block) {
    HWY_DYNAMIC_DISPATCH(split_float)(complex_data, parts, factors, block);
}
template <>
void split_block(bool complex_data, int parts, const PlaneFactors<double>& factors,
                 const NetworkBlock<double>& block) {
    HWY_DYNAMIC_DISPATCH(split_double)(complex_data, parts, factors, block);
}
template <>
void merge_block(bool complex_data, int parts, const PlaneFactors<float>& factors,
                 const NetworkBlock<float>& block) {
    HWY_DYNAMIC_DISPATCH(merge_float)(complex_data, parts, factors, block);
}
template <>
void merge_block(bool complex_data, int parts, const PlaneFactors<double>& factors,
                 const NetworkBlock<double>& block) {
    HWY_DYNAMIC_DISPATCH(merge_double)(complex_data, parts, factors, block);
}

}  // namespace convolume::decompose
#endif
