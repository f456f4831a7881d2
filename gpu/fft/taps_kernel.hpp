// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pass along z with a kernel that is given as its taps: it transforms both. Less is read than
// of a kernel's spectrum, and more is computed.

#include "gpu/fft/column_kernel.hpp"

namespace convolume::gpu {

/// The body of the CUDA kernel that convolves columns with taps. It transforms the source, then the
/// taps. Meanwhile registers keep the spectrum of the source, or shared memory in the place from
/// which the source has been loaded.
template <class Shape, class Context>
CONVOLUME_DEVICE void taps_pass(const Context& context,
                                const ColumnJob<typename Shape::Real>& job) {
    using Real = typename Shape::Real;
    using Fft = RadixStages<Real, Shape>;
    using Thread = ColumnThread<Shape, Context>;
    constexpr int columns = Shape::columns, last = Shape::plan.last();
    constexpr bool in_shared_memory = Shape::spectrum_in_shared_memory;  // that spectrum

    char* const memory = context.shared();
    const auto exchanger = [&] {
        const int column = context.thread() % columns;
        if constexpr (Shape::exchanges_whole_samples)
            return WholeExchange<Real, Context>{
                context, reinterpret_cast<Complex<Real>*>(memory) + column, columns};
        else
            return SplitExchange<Real, Context>{context, reinterpret_cast<Real*>(memory) + column,
                                                columns};
    }();
    auto* const twiddles = reinterpret_cast<Complex<Real>*>(memory + Shape::exchange_bytes);
    copy_table(context, twiddles, job.twiddles, Shape::plan.twiddle_count(), Shape::threads);
    context.sync();

    // Source and taps are prefetched in turns, each as a group of copies. While one of them is
    // loaded, only the other may still be on its way.
    const Thread column_thread(context, job);
    const auto prefetch_source = [&](index_t tile) {
        column_thread.prefetch_source(tile);
        context.end_copy_group();
    };
    const auto prefetch_taps = [&](index_t tile) {
        if (job.prefetches_taps && tile < column_thread.tiles)
            column_thread.prefetch_kernel(tile, column_thread.prefetched_taps, job.taps);
        context.end_copy_group();
    };
    index_t tile = context.block();
    if constexpr (in_shared_memory) prefetch_taps(tile);
    prefetch_source(tile);
    if constexpr (!in_shared_memory) prefetch_taps(tile);
    for (; tile < column_thread.tiles; tile += context.blocks()) {
        const typename Thread::TilePosition place = column_thread.position_of_tile(tile);
        const index_t next = tile + context.blocks();
        // The compiler forgets the value, so that it does not keep the addresses of all samples in
        // registers: of three radix stages in each of the three transforms.
        int thread = context.forget(context.thread() / columns);
        typename Fft::ThreadSamples v;
        [[maybe_unused]] typename Fft::ThreadSamples spectrum;  // of the source
        // A loop uses the same instructions for both: twice as many instructions load more slowly.
        CONVOLUME_NO_UNROLL
        for (bool taps = false;; taps = true) {
            if constexpr (Shape::plan.stages > 2) thread = context.forget(thread);
            if (taps) {
                if constexpr (!in_shared_memory) context.wait_copies_but_last_group();
                column_thread.load_taps(thread, place, v);
                prefetch_taps(next);
            } else if constexpr (in_shared_memory) {
                context.wait_copies();
                column_thread.load_source(thread, place, v);
            } else {
                context.wait_copies_but_last_group();
                column_thread.load_source(thread, place, v);
                prefetch_source(next);
            }
            Fft::forward(exchanger, thread, v, twiddles);
            if (taps) break;
            Fft::template for_each<last>(thread, [&](int sample, int frequency) {
                if constexpr (in_shared_memory)
                    *column_thread.prefetched_sample(frequency) = v[sample];
                else
                    spectrum[sample] = v[sample];
            });
        }
        if constexpr (Shape::plan.stages > 2) thread = context.forget(thread);
        Fft::template for_each<last>(thread, [&](int sample, int frequency) {
            Complex<Real> factor;
            if constexpr (in_shared_memory)
                factor = *column_thread.prefetched_sample(frequency);
            else
                factor = spectrum[sample];
            v[sample] =
                conjugate(factor * Complex<Real>{v[sample].re, job.kernel_sign * v[sample].im});
        });
        if constexpr (in_shared_memory) {
            context.sync();
            prefetch_source(next);
        }
        Fft::back(exchanger, thread, v, twiddles);
        Complex<Real>* const target = column_thread.target_at(place);
        const bool is_inside = column_thread.is_inside(place);
        Fft::template for_each<0>(thread, [&](int sample, int position) {
            column_thread.store(target, is_inside, position, v[sample]);
        });
    }
}

}  // namespace convolume::gpu
