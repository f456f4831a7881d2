// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pass along z with a kernel that varies along z (core/plane_weights.hpp): the sample of a slot
// is weighted for each kernel. Registers keep the sum of products, or the spectrum that all kernels
// project back.

#include "gpu/fft/column_kernel.hpp"

namespace convolume::gpu {

template <class Real>
struct VaryingColumnJob {
    ColumnJob<Real> columns;  ///< its kernel is the spectrum of the first kernel
    int kernels = 0;
    index_t kernel_stride = 0;  ///< complex samples between spectra of kernels
    /// Weights of the samples that the job's load map loads, or with `adjoint` of those that its
    /// store map stores: kernel k and the map's i-th slot have weights[k * weight_stride + i].
    const float* weights = nullptr;
    index_t weight_stride = 0;
    bool adjoint = false;
};

/// Returns the job of convolve_varying_columns (passes.hpp), without twiddle factors.
template <class Real>
VaryingColumnJob<Real> varying_convolve_job(index_t length, const Columns<Real>& data,
                                            const PositionMap& load, const PositionMap& store,
                                            const VaryingColumnKernel<Real>& kernel) {
    VaryingColumnJob<Real> job;
    job.columns =
        convolve_job<Real>(length, data, load, store, {kernel.columns, 0, kernel.adjoint});
    job.kernels = static_cast<int>(kernel.kernels);
    job.kernel_stride = kernel.kernel_stride;
    job.weights = kernel.weights;
    job.weight_stride = kernel.weight_stride;
    job.adjoint = kernel.adjoint;
    return job;
}

/// The body of the CUDA kernel for columns, in place.
template <class Shape, class Context>
CONVOLUME_DEVICE void varying_column_pass(const Context& context,
                                          const VaryingColumnJob<typename Shape::Real>& varying) {
    using Real = typename Shape::Real;
    using Fft = RadixStages<Real, Shape>;
    constexpr int columns = Shape::columns, last = Shape::plan.last();
    const ColumnJob<Real>& job = varying.columns;

    char* const memory = context.shared();
    const SplitExchange<Real, Context> exchanger{
        context, reinterpret_cast<Real*>(memory) + context.thread() % columns, columns};
    auto* const twiddles = reinterpret_cast<Complex<Real>*>(memory + Shape::exchange_bytes);
    copy_table(context, twiddles, job.twiddles, Shape::plan.twiddle_count(), Shape::threads);
    context.sync();

    const index_t tiles = (job.columns + columns - 1) / columns;
    for (index_t tile = context.block(); tile < tiles; tile += context.blocks()) {
        const index_t column = tile * columns + context.thread() % columns;
        const bool is_inside = column < job.columns;
        const int thread = context.forget(context.thread() / columns);
        Complex<Real>* const data = job.target + column;
        typename Fft::ThreadSamples v, sum;

        // Loads samples with the weights of a kernel; null: all have the weight 1.
        const auto load = [&](const float* weights) {
            Fft::template for_each<0>(thread, [&](int sample, int position) {
                v[sample] = {0, 0};
                const int i = job.load_slots.index(position);
                if (!is_inside || i < 0) return;
                const Real weight = weights == nullptr ? Real(1) : Real(weights[i]);
                if (weight == 0) return;
                const Complex<Real> loaded =
                    data[slot_offset<Real>(job.load_slots.slot(i), job.source_slot_stride)];
                v[sample] = {weight * loaded.re, weight * loaded.im};
            });
        };
        // Calls use(sample, factor) with the spectrum of kernel k.
        const auto each_factor = [&](int k, const auto& use) {
            const Complex<Real>* const kernel = job.kernel + k * varying.kernel_stride + column;
            Fft::template for_each<last>(thread, [&](int sample, int frequency) {
                if (!is_inside) return;
                const Complex<Real> factor =
                    context.load(kernel + slot_offset<Real>(frequency, job.kernel_slot_stride));
                use(sample, Complex<Real>{factor.re, job.kernel_sign * factor.im});
            });
        };
        // Calls use(i, target, sample) for the i-th slot that is stored.
        const auto each_stored = [&](const auto& use) {
            Fft::template for_each<0>(thread, [&](int sample, int position) {
                const int i = job.store_slots.index(position);
                if (!is_inside || i < 0) return;
                use(i, data + slot_offset<Real>(job.store_slots.slot(i), job.target_slot_stride),
                    Complex<Real>{v[sample].re, job.store_sign * v[sample].im});
            });
        };

        if (varying.adjoint) {
            load(nullptr);
            Fft::forward(exchanger, thread, v, twiddles);
            Fft::template for_each<last>(thread, [&](int sample, int) { sum[sample] = v[sample]; });
            CONVOLUME_NO_UNROLL
            for (int k = 0; k < varying.kernels; ++k) {
                each_factor(k, [&](int sample, const Complex<Real>& factor) {
                    v[sample] = conjugate(sum[sample] * factor);
                });
                Fft::back(exchanger, thread, v, twiddles);
                const float* const weights = varying.weights + k * varying.weight_stride;
                each_stored([&](int i, Complex<Real>* target, const Complex<Real>& sample) {
                    const Real weight = Real(weights[i]);
                    if (k > 0 && weight == 0) return;
                    const Complex<Real> before = k > 0 ? *target : Complex<Real>{0, 0};
                    *target = {before.re + weight * sample.re, before.im + weight * sample.im};
                });
            }
            continue;
        }
        Fft::template for_each<last>(thread, [&](int sample, int) { sum[sample] = {0, 0}; });
        CONVOLUME_NO_UNROLL
        for (int k = 0; k < varying.kernels; ++k) {
            load(varying.weights + k * varying.weight_stride);
            Fft::forward(exchanger, thread, v, twiddles);
            each_factor(k, [&](int sample, const Complex<Real>& factor) {
                const Complex<Real> product = v[sample] * factor;
                sum[sample] = {sum[sample].re + product.re, sum[sample].im + product.im};
            });
        }
        Fft::template for_each<last>(thread,
                                     [&](int sample, int) { v[sample] = conjugate(sum[sample]); });
        Fft::back(exchanger, thread, v, twiddles);
        each_stored(
            [&](int, Complex<Real>* target, const Complex<Real>& sample) { *target = sample; });
    }
}

}  // namespace convolume::gpu
