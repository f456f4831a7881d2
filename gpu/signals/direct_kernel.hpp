// SPDX-License-Identifier: Apache-2.0
#pragma once
// The body of the CUDA kernel for direct sums in time. Shared memory holds the samples for the
// results of a thread block. Each thread keeps a few neighboring results of a few filters in
// registers, past which samples are shifted.

#include <type_traits>

#include "convolume/cuda/detail/codelets.hpp"
#include "convolume/cuda/detail/stored_samples.hpp"
#include "convolume/shape.hpp"

namespace convolume::gpu {

template <class Real>
struct SumsJob {
    const void* source = nullptr;
    index_t source_stride = 0, first = 0, count = 0;  ///< source as in SegmentJob
    const void* taps = nullptr;        ///< taps [group of filters][tap][filter of the group]
    int filters = 0, taps_padded = 0;  ///< padded to a multiple of SumsShape::results
    void* target = nullptr;
    index_t signal_stride = 0, filter_stride = 0;
    index_t begin = 0, end = 0;
    index_t thread_blocks_per_signal = 0;
    bool power = false;
    index_t window_length = 1;  ///< window of decimation; 1: none
    StorageJob storage{};       ///< not plain only for CUDA kernels compiled for other storage
};

template <class Sample>
struct SumsShape {
    static constexpr bool complex_data = !std::is_floating_point_v<Sample>;
    static constexpr int threads = 128;
    /// Results of each thread for each filter.
    static constexpr int results = complex_data ? 4 : 8;
    static constexpr int filters = 4;  ///< filters that are summed at once
    static constexpr int block_results = threads * results;

    CONVOLUME_CONSTEXPR static int padded(int i) { return i + i / results; }
    /// Return the bytes of a thread block's samples with those before them, and of all shared
    /// memory: also the results of a filter and the taps of a group.
    CONVOLUME_CONSTEXPR static index_t samples_bytes(int taps_padded) {
        return (index_t{sizeof(Sample)} * padded(block_results + taps_padded) + 15) / 16 * 16;
    }
    CONVOLUME_CONSTEXPR static index_t shared_bytes(int taps_padded) {
        return samples_bytes(taps_padded) +
               (index_t{sizeof(Sample)} * padded(block_results) + 15) / 16 * 16 +
               index_t{sizeof(Sample)} * filters * taps_padded;
    }
};

/// The results of a thread block: `count` results of signal number `signal`, after `before` earlier
/// results.
struct BlockResults {
    index_t signal, earlier_results;
    int count;
};

/// Stores a thread block's results of one filter from shared memory: neighboring threads store
/// neighboring results. Only with `any_storage`, results may have 16 bits.
template <class Real, class Sample, bool any_storage, class Context>
CONVOLUME_DEVICE void store_block_results(const Context& context, const SumsJob<Real>& job,
                                          const BlockResults& block, int filter,
                                          const Sample* summed) {
    using Shape = SumsShape<Sample>;
    constexpr int threads = Shape::threads;
    const int thread = context.thread();
    const index_t result_offset = block.signal * job.signal_stride + filter * job.filter_stride;
    const auto store = [&](auto* target, const auto& value) {
        if (job.window_length == 1) {
            for (int i = thread; i < block.count; i += threads)
                context.store(target + result_offset + block.earlier_results + i,
                              value(summed[Shape::padded(i)]));
            return;
        }
        for (int i = thread; i < block.count; i += threads)
            if ((block.earlier_results + i) % job.window_length == 0)
                context.store(
                    target + result_offset + (block.earlier_results + i) / job.window_length,
                    value(summed[Shape::padded(i)]));
    };
    const auto store_values = [&](const auto& value) {
        using Result = decltype(value(Sample{}));
        if constexpr (any_storage) {
            using Word =
                std::conditional_t<std::is_same_v<Result, float>, SampleWord, std::uint32_t>;
            if (job.storage.target != SampleStorage::plain) {
                visit_storage(job.storage.target, [&](auto kind) {
                    typename decltype(kind)::Encoder encode(job.storage.factor);
                    store(static_cast<Word*>(job.target),
                          [&](Sample y) -> Word { return encode(value(y)); });
                    encode.add_clamped(context, job.storage.clamped);
                });
                return;
            }
        }
        store(static_cast<Result*>(job.target), value);
    };
    if (!job.power) {
        store_values([](Sample y) { return y; });
    } else if constexpr (Shape::complex_data) {
        store_values([](Sample y) { return y.re * y.re + y.im * y.im; });
    } else {
        store_values([](Sample y) { return y * y; });
    }
}

/// Calls f(at) for the index of each sample that a thread block needs, and stores the result in
/// `samples`. Samples that the signal lacks are 0.
template <class Sample, class Context, class Job, class F>
CONVOLUME_DEVICE void load_block_samples(const Context& context, const Job& job, index_t first,
                                         Sample* samples, const F& f) {
    using Shape = SumsShape<Sample>;
    for (int i = context.thread(); i < Shape::block_results + job.taps_padded;
         i += Shape::threads) {
        const index_t at = first - job.taps_padded + i - job.first;
        samples[Shape::padded(i)] = at >= 0 && at < job.count ? f(at) : Sample{};
    }
}

/// The body of the CUDA kernel. Only with `any_storage`, signals or results may have 16 bits.
template <class Real, class Sample, bool any_storage = false, class Context>
CONVOLUME_DEVICE void sum_filters_directly(const Context& context, const SumsJob<Real>& job) {
    using Shape = SumsShape<Sample>;
    constexpr int results = Shape::results, filters = Shape::filters, threads = Shape::threads;
    const int thread = context.thread();
    char* const memory = context.shared();
    auto* const samples = reinterpret_cast<Sample*>(memory);
    auto* const summed = reinterpret_cast<Sample*>(memory + Shape::samples_bytes(job.taps_padded));
    auto* const taps =
        reinterpret_cast<Sample*>(memory + Shape::shared_bytes(job.taps_padded) -
                                  index_t{sizeof(Sample)} * filters * job.taps_padded);

    const index_t signal = context.block() / job.thread_blocks_per_signal;
    const index_t block_index = context.block() - signal * job.thread_blocks_per_signal;
    const index_t first =
        job.begin + block_index * Shape::block_results;  // first result of the thread block
    const BlockResults block{signal, first - job.begin,
                             job.end - first < Shape::block_results
                                 ? static_cast<int>(job.end - first)
                                 : Shape::block_results};

    // samples[i] is x[first - taps_padded + i].
    bool is_plain = true;
    if constexpr (any_storage) is_plain = job.storage.source == SampleStorage::plain;
    if (is_plain) {
        const auto* const source =
            static_cast<const Sample*>(job.source) + signal * job.source_stride;
        load_block_samples(context, job, first, samples,
                           [&](index_t at) { return context.load(source + at); });
    }
    if constexpr (any_storage) {
        if (!is_plain)
            visit_storage(job.storage.source, [&](auto kind) {
                const typename decltype(kind)::Decoder decode;
                using Word = std::conditional_t<Shape::complex_data, std::uint32_t, SampleWord>;
                const auto* const source =
                    static_cast<const Word*>(job.source) + signal * job.source_stride;
                load_block_samples(context, job, first, samples, [&](index_t at) -> Sample {
                    const Word words = context.load(source + at);
                    if constexpr (Shape::complex_data) {
                        return {decode(static_cast<SampleWord>(words)),
                                decode(static_cast<SampleWord>(words >> 16))};
                    } else {
                        return decode(words);
                    }
                });
            });
    }

    for (int group = 0; group * filters < job.filters; ++group) {
        context.sync();
        const auto* const from = static_cast<const Sample*>(job.taps) +
                                 static_cast<index_t>(group) * filters * job.taps_padded;
        for (int i = thread; i < filters * job.taps_padded; i += threads)
            taps[i] = context.load(from + i);
        context.sync();

        Sample sums[static_cast<unsigned>(filters)][static_cast<unsigned>(results)] = {};
        // Before step q, near[i] is x[n - q·results + i] for the thread's first result n. far[i]
        // are the `results` samples before those.
        Sample near[static_cast<unsigned>(results)], far[static_cast<unsigned>(results)];
        int at = job.taps_padded + thread * results;
        unroll<results>([&](auto i) { near[i] = samples[Shape::padded(at) + i]; });
        for (int tap = 0; tap < job.taps_padded; tap += results) {
            at -= results;
            unroll<results>([&](auto i) { far[i] = samples[Shape::padded(at) + i]; });
            unroll<results>([&](auto k) {
                Sample h[static_cast<unsigned>(filters)];
                unroll<filters>([&](auto f) { h[f] = taps[(tap + k) * filters + f]; });
                unroll<results>([&](auto r) {
                    constexpr int i = decltype(r)::value - decltype(k)::value;
                    const Sample x = i >= 0 ? near[i >= 0 ? i : 0] : far[i < 0 ? results + i : 0];
                    unroll<filters>([&](auto f) { multiply_add(sums[f][r], h[f], x); });
                });
            });
            unroll<results>([&](auto i) { near[i] = far[i]; });
        }

        unroll<filters>([&](auto f) {
            const int filter = group * filters + f;
            if (filter >= job.filters) return;
            context.sync();
            unroll<results>(
                [&](auto r) { summed[Shape::padded(thread * results) + r] = sums[f][r]; });
            context.sync();
            store_block_results<Real, Sample, any_storage>(context, job, block, filter, summed);
        });
    }
}

}  // namespace convolume::gpu
