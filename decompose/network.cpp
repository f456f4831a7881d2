// SPDX-License-Identifier: Apache-2.0
#include "decompose/network.hpp"

#include "core/pixels/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "decompose/network.cpp"
#include <hwy/foreach_target.h>

#include "decompose/butterflies-inl.hpp"
#include "decompose/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace convolume::decompose::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

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
