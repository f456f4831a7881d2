// SPDX-License-Identifier: Apache-2.0
#include "decompose/network.hpp"

#include "core/instruction_sets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "decompose/network.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convolume::decompose::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Loads and stores of rows as vectors

template <class D>
struct ComplexLanes {
    hn::Vec<D> re;
    hn::Vec<D> im;
};

/// Loads a vector, and prefetches samples further on in the row: up to 32 rows are read at once,
/// more than the processor's own prefetcher follows.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_row(D d, const T* in) {
    constexpr std::size_t bytes_ahead = 256;
    hwy::Prefetch(in + bytes_ahead / sizeof(T));
    return hn::LoadU(d, in);
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store(D d, hn::Vec<D> v, T* out, bool past_cache) {
    if (past_cache) {
        hn::Stream(v, d, out);
    } else {
        hn::StoreU(v, d, out);
    }
}

// Real and imaginary parts are separated and interleaved within 128 bits, which is cheap. It leaves
// the samples of two vectors in another order: groups of half a vector alternate between the first
// half of the samples and the second half. The result of butterflies does not depend on the order.

#if HWY_TARGET == HWY_SCALAR
template <class D>
HWY_INLINE ComplexLanes<D> interleave(D /*d*/, const ComplexLanes<D>& v) {
    return v;
}
template <class D>
HWY_INLINE ComplexLanes<D> separate(D /*d*/, const ComplexLanes<D>& v) {
    return v;
}
#else
template <class D>
HWY_INLINE ComplexLanes<D> interleave(D d, const ComplexLanes<D>& v) {
    return {hn::InterleaveLower(d, v.re, v.im), hn::InterleaveUpper(d, v.re, v.im)};
}
template <class D>
HWY_INLINE ComplexLanes<D> separate(D d, const ComplexLanes<D>& v) {
    const ComplexLanes<D> once = interleave(d, v);
    if constexpr (sizeof(hn::TFromD<D>) == 8) return once;
    return interleave(d, once);
}
#endif

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store(D d, const ComplexLanes<D>& v, T* out, bool past_cache) {
    const ComplexLanes<D> interleaved = interleave(d, v);
    store(d, interleaved.re, out, past_cache);
    store(d, interleaved.im, out + hn::Lanes(d), past_cache);
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE ComplexLanes<D> load_complex_row(D d, const T* in) {
    return separate(d, ComplexLanes<D>{load_row(d, in), load_row(d, in + hn::Lanes(d))});
}

/// Reorders the samples of real vectors as load_complex_row() orders complex ones, and back.
template <class D>
class LaneOrder {
  public:
    explicit LaneOrder(D d) {
        constexpr Index piece = lanes * sizeof(T) <= 16 ? lanes : 8 / sizeof(T);
        Index to_complex[lanes];
        Index to_memory[lanes];
        for (Index i = 0; i < lanes; ++i) {
            const Index group = i / piece;
            to_complex[i] =
                lanes <= piece ? i : group / 2 * piece + i % piece + group % 2 * (lanes / 2);
            to_memory[to_complex[i]] = i;
        }
        to_complex_ = hn::SetTableIndices(d, to_complex);
        to_memory_ = hn::SetTableIndices(d, to_memory);
    }
    HWY_INLINE hn::Vec<D> complex_order(hn::Vec<D> v) const {
        if constexpr (lanes * sizeof(T) <= 16) return v;
        return hn::TableLookupLanes(v, to_complex_);
    }
    HWY_INLINE hn::Vec<D> memory_order(hn::Vec<D> v) const {
        if constexpr (lanes * sizeof(T) <= 16) return v;
        return hn::TableLookupLanes(v, to_memory_);
    }

  private:
    using T = hn::TFromD<D>;
    using Index = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    static constexpr Index lanes = hn::MaxLanes(D());
    using Table = decltype(hn::SetTableIndices(D(), static_cast<const Index*>(nullptr)));
    Table to_complex_;
    Table to_memory_;
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
HWY_INLINE ComplexLanes<D> add(const ComplexLanes<D>& a, const ComplexLanes<D>& b) {
    return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class D>
HWY_INLINE ComplexLanes<D> subtract(const ComplexLanes<D>& a, const ComplexLanes<D>& b) {
    return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
template <class D>
HWY_INLINE ComplexLanes<D> multiply(D d, const ComplexLanes<D>& a,
                                    std::complex<hn::TFromD<D>> factor) {
    const auto re = hn::Set(d, factor.real());
    const auto im = hn::Set(d, factor.imag());
    return {hn::NegMulAdd(a.im, im, hn::Mul(a.re, re)), hn::MulAdd(a.im, re, hn::Mul(a.re, im))};
}

/// Returns a · e^{∓2πi k/32}, minus for the forward direction. As loops are unrolled, k is
/// constant.
template <bool Inverse, class D>
HWY_INLINE ComplexLanes<D> rotate(D d, const ComplexLanes<D>& a, std::size_t k) {
    using T = hn::TFromD<D>;
    k = (Inverse ? k : 32 - k) % 32;
    if (k == 0) return a;
    if (k == 8) return {hn::Neg(a.im), a.re};
    if (k == 16) return {hn::Neg(a.re), hn::Neg(a.im)};
    if (k == 24) return {a.im, hn::Neg(a.re)};
    return multiply(d, a, {static_cast<T>(cosine32(k)), static_cast<T>(sine32(k))});
}

/// Computes the DFT of Size values in natural order: radix 2 and 4, 8 = 4∘2, 16 = 4∘4.
template <std::size_t Size, bool Inverse, class D>
HWY_INLINE void dft(D d, ComplexLanes<D>* x) {
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
        ComplexLanes<D> column[Outer][4];
#pragma GCC unroll 4
        for (std::size_t b = 0; b < Outer; ++b) {
#pragma GCC unroll 4
            for (std::size_t a = 0; a < 4; ++a) column[b][a] = x[Outer * a + b];
            dft<4, Inverse>(d, column[b]);
        }
#pragma GCC unroll 4
        for (std::size_t a = 0; a < 4; ++a) {
            ComplexLanes<D> row[Outer];
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

/// Splits samples of 2P real rows into those of two rows of part 0 and of P - 1 complex parts, by
/// the rule of split.hpp.
template <std::size_t P, class D>
HWY_INLINE void split_real(D d, const hn::Vec<D>* x, hn::Vec<D>* real, ComplexLanes<D>* parts) {
    if constexpr (P == 1) {
        real[0] = x[0];
        real[1] = x[1];
    } else {
        hn::Vec<D> sum[P];
#pragma GCC unroll 16
        for (std::size_t q = 0; q < P; ++q) sum[q] = hn::Add(x[q], x[q + P]);
        ComplexLanes<D>* odd = parts + (P / 2 - 1);
#pragma GCC unroll 16
        for (std::size_t q = 0; q < P / 2; ++q) {
            const ComplexLanes<D> pair{hn::Sub(x[q], x[q + P]),
                                       hn::Sub(x[q + P + P / 2], x[q + P / 2])};
            odd[q] = rotate<false>(d, pair, q * (16 / P));
        }
        dft<P / 2, false>(d, odd);
        split_real<P / 2>(d, sum, real, parts);
    }
}

/// Inverts split_real(); the result is multiplied by P.
template <std::size_t P, class D>
HWY_INLINE void merge_real(D d, const hn::Vec<D>* real, ComplexLanes<D>* parts, hn::Vec<D>* x) {
    if constexpr (P == 1) {
        x[0] = real[0];
        x[1] = real[1];
    } else {
        hn::Vec<D> sum[P];
        merge_real<P / 2>(d, real, parts, sum);
        ComplexLanes<D>* odd = parts + (P / 2 - 1);
        dft<P / 2, true>(d, odd);
#pragma GCC unroll 16
        for (std::size_t q = 0; q < P / 2; ++q) {
            const ComplexLanes<D> pair = rotate<true>(d, odd[q], q * (16 / P));
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
void split_real_span(const PlaneFactors<T>& factors, const NetworkSpan<T>& span) {
    const hn::ScalableTag<T> d;
    using D = hn::ScalableTag<T>;
    const LaneOrder<D> order(d);
    for (index_t i = 0; i < span.samples; i += static_cast<index_t>(hn::Lanes(d))) {
        hn::Vec<D> x[2 * P];
        hn::Vec<D> real[2];
        ComplexLanes<D> parts[P - 1];
#pragma GCC unroll 32
        for (std::size_t q = 0; q < 2 * P; ++q) {
            x[q] = order.complex_order(load_row(d, span.in[q] + i));
        }
        split_real<P>(d, x, real, parts);
#pragma GCC unroll 2
        for (std::size_t q = 0; q < 2; ++q) {
            store(d, order.memory_order(real[q]), span.out[q] + i, span.past_cache[q]);
        }
#pragma GCC unroll 16
        for (std::size_t p = 1; p < P; ++p) {
            store(d, multiply(d, parts[p - 1], factors[p]), span.out[p + 1] + 2 * i,
                  span.past_cache[p + 1]);
        }
    }
}

template <std::size_t P, class T>
void merge_real_span(const PlaneFactors<T>& factors, const NetworkSpan<T>& span) {
    const hn::ScalableTag<T> d;
    using D = hn::ScalableTag<T>;
    const LaneOrder<D> order(d);
    const auto scale = hn::Set(d, factors[0].real());
    for (index_t i = 0; i < span.samples; i += static_cast<index_t>(hn::Lanes(d))) {
        hn::Vec<D> x[2 * P];
        hn::Vec<D> real[2];
        ComplexLanes<D> parts[P - 1];
#pragma GCC unroll 2
        for (std::size_t q = 0; q < 2; ++q) {
            real[q] = order.complex_order(hn::Mul(load_row(d, span.in[q] + i), scale));
        }
#pragma GCC unroll 16
        for (std::size_t p = 1; p < P; ++p) {
            parts[p - 1] = multiply(d, load_complex_row(d, span.in[p + 1] + 2 * i), factors[p]);
        }
        merge_real<P>(d, real, parts, x);
#pragma GCC unroll 32
        for (std::size_t q = 0; q < 2 * P; ++q) {
            store(d, order.memory_order(x[q]), span.out[q] + i, span.past_cache[q]);
        }
    }
}

template <std::size_t P, bool Inverse, class T>
void complex_span(const PlaneFactors<T>& factors, const NetworkSpan<T>& span) {
    const hn::ScalableTag<T> d;
    using D = hn::ScalableTag<T>;
    for (index_t i = 0; i < span.samples; i += static_cast<index_t>(hn::Lanes(d))) {
        ComplexLanes<D> x[P];
#pragma GCC unroll 16
        for (std::size_t p = 0; p < P; ++p) {
            x[p] = load_complex_row(d, span.in[p] + 2 * i);
            if constexpr (Inverse) x[p] = multiply(d, x[p], factors[p]);
        }
        dft<P, Inverse>(d, x);
#pragma GCC unroll 16
        for (std::size_t p = 0; p < P; ++p) {
            if constexpr (!Inverse) x[p] = multiply(d, x[p], factors[p]);
            store(d, x[p], span.out[p] + 2 * i, span.past_cache[p]);
        }
    }
}

template <class T>
void copy_span(index_t values, const NetworkSpan<T>& span) {
    const hn::ScalableTag<T> d;
    for (index_t i = 0; i < values; i += static_cast<index_t>(hn::Lanes(d))) {
        store(d, load_row(d, span.in[0] + i), span.out[0] + i, span.past_cache[0]);
    }
}

template <bool Inverse, class T>
void run_network(bool complex_data, int parts, const PlaneFactors<T>& factors,
                 const NetworkSpan<T>& span) {
    if (parts == 1) return copy_span(complex_data ? 2 * span.samples : span.samples, span);
    const auto run = [&](auto count) {
        constexpr std::size_t P = decltype(count)::value;
        if (complex_data) return complex_span<P, Inverse>(factors, span);
        if constexpr (Inverse)
            return merge_real_span<P>(factors, span);
        else
            return split_real_span<P>(factors, span);
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

// The function of each loop and precision, for HWY_EXPORT, which takes no templates.
static constexpr auto& split_float = run_network<false, float>;
static constexpr auto& split_double = run_network<false, double>;
static constexpr auto& merge_float = run_network<true, float>;
static constexpr auto& merge_double = run_network<true, double>;

}  // namespace convolume::decompose::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::decompose {

NetworkRows network_rows(bool complex_data, int parts) {
    if (parts == 1 || complex_data) return {parts, parts};
    return {2 * parts, parts + 1};
}

#define CONVOLUME_SPANS(Real)                                                        \
    HWY_EXPORT(split_##Real);                                                        \
    HWY_EXPORT(merge_##Real);                                                        \
    template <>                                                                      \
    void split_span(bool complex_data, int parts, const PlaneFactors<Real>& factors, \
                    const NetworkSpan<Real>& span) {                                 \
        HWY_DYNAMIC_DISPATCH(split_##Real)(complex_data, parts, factors, span);      \
    }                                                                                \
    template <>                                                                      \
    void merge_span(bool complex_data, int parts, const PlaneFactors<Real>& factors, \
                    const NetworkSpan<Real>& span) {                                 \
        HWY_DYNAMIC_DISPATCH(merge_##Real)(complex_data, parts, factors, span);      \
    }
CONVOLUME_SPANS(float)
CONVOLUME_SPANS(double)

}  // namespace convolume::decompose
#endif
