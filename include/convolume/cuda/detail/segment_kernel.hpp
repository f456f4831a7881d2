// SPDX-License-Identifier: Apache-2.0
#pragma once
// The body of the CUDA kernel for overlap-save in shared memory. A segment is read and transformed
// once. For every filter it is multiplied by the filter's spectrum and transformed back; aliased
// samples are dropped, and the others are post-processed and stored. Adámek et al., ACM TACO
// 17(3):18, 2020. A complex transform holds two real segments: since filters are real, the results
// are its real and imaginary parts.

#include "convolume/cuda/detail/segment_post.hpp"

namespace convolume::gpu {

/// Calls f(i, sample) for the samples that a thread holds, which are zero outside the signal.
/// Sample is Real or Complex<Real>, or a word of them.
template <class Sample, class Real, class Transform, class Context, class F>
CONVOLUME_DEVICE void read_segment(const Context& context, const SegmentJob<Real>& job,
                                   const SegmentPlace& place, int thread, const F& f) {
    const index_t offset = place.first - job.skip - job.first;
    const auto* const source =
        static_cast<const Sample*>(job.source) + place.signal * job.source_stride + offset;
    const bool inside = offset >= 0 && offset + Transform::plan.n <= job.count;
    unroll<Transform::elements>([&](auto i) {
        const int position = thread + i * Transform::threads;
        Sample sample{};
        const index_t at = offset + position;
        if (place.count > 0 && (inside || (at >= 0 && at < job.count)))
            sample = context.load(source + position);
        f(i, sample);
    });
}

/// Reads the samples of a segment, or of two real segments that are the real and imaginary parts.
template <class Real, bool complex_data, class Transform, class Context>
CONVOLUME_DEVICE void read_plain(const Context& context, const SegmentJob<Real>& job,
                                 index_t segment, int thread,
                                 typename Transform::ThreadSamples& v) {
    if constexpr (complex_data) {
        read_segment<Complex<Real>, Real, Transform>(context, job, segment_place(job, segment),
                                                     thread,
                                                     [&](auto i, Complex<Real> x) { v[i] = x; });
    } else {
        read_segment<Real, Real, Transform>(context, job, segment_place(job, segment), thread,
                                            [&](auto i, Real x) { v[i].re = x; });
        read_segment<Real, Real, Transform>(context, job, segment_place(job, segment + 1), thread,
                                            [&](auto i, Real x) { v[i].im = x; });
    }
}

/// Reads samples of 16 bits, as read_plain() does others.
template <bool complex_data, class Transform, class Context>
CONVOLUME_DEVICE void read_short(const Context& context, const SegmentJob<float>& job,
                                 index_t segment, int thread,
                                 typename Transform::ThreadSamples& v) {
    std::uint32_t words[static_cast<unsigned>(Transform::elements)];  // of real and imaginary part
    const SegmentPlace place = segment_place(job, segment);
    if constexpr (complex_data) {
        read_segment<std::uint32_t, float, Transform>(
            context, job, place, thread, [&](auto i, std::uint32_t both) { words[i] = both; });
    } else {
        read_segment<SampleWord, float, Transform>(
            context, job, place, thread, [&](auto i, SampleWord word) { words[i] = word; });
        read_segment<SampleWord, float, Transform>(
            context, job, segment_place(job, segment + 1), thread,
            [&](auto i, SampleWord word) { words[i] |= static_cast<std::uint32_t>(word) << 16; });
    }
    visit_storage(job.storage.source, [&](auto kind) {
        const typename decltype(kind)::Decoder decode;
        unroll<Transform::elements>([&](auto i) {
            v[i] = {decode(static_cast<SampleWord>(words[i])),
                    decode(static_cast<SampleWord>(words[i] >> 16))};
        });
    });
}

/// The spectrum of a segment, or of two real segments. It is in registers, or in shared memory at
/// addresses that only one thread uses.
template <class Real, class Shape>
class SegmentSpectrum {
  public:
    using Transform = SegmentTransform<Real, Shape>;
    using ThreadSamples = typename Transform::ThreadSamples;
    static constexpr int elements = Transform::elements, threads = Transform::threads;

    CONVOLUME_DEVICE SegmentSpectrum(char* memory, int thread, const ThreadSamples& v)
        : kept_(reinterpret_cast<Complex<Real>*>(memory + Shape::segment_bytes -
                                                 Shape::spectrum_bytes) +
                thread) {
        unroll<elements>([&](auto i) {
            if constexpr (Shape::spectrum_in_registers) {
                held_[i] = v[i];
            } else {
                kept_[i * threads] = v[i];
            }
        });
    }

    /// Sets `v` to the conjugated product with a filter's spectrum. The transform of conjugates
    /// gives the conjugates of the inverse transform.
    template <class Context>
    CONVOLUME_DEVICE void multiply(const Context& context, const Complex<Real>* spectrum,
                                   int thread, ThreadSamples& v) const {
        unroll<elements / 2>([&](auto pair) {
            constexpr int i = 2 * decltype(pair)::value;
            const auto h = context.load_pair(spectrum + i * threads + 2 * thread);
            const auto product = [&](auto element, Complex<Real> response) {
                constexpr int e = decltype(element)::value;
                if constexpr (Shape::spectrum_in_registers) {
                    v[e] = conjugate(held_[e] * response);
                } else {
                    v[e] = conjugate(kept_[e * threads] * response);
                }
            };
            product(Constant<i>{}, h.first);
            product(Constant<i + 1>{}, h.second);
        });
    }

  private:
    Samples<Real, Shape::spectrum_in_registers ? elements : 1> held_;
    Complex<Real>* kept_;
};

/// Stores a segment's results of one filter, or those of two real segments, in 16 bits. `v` holds
/// the conjugated results, and is overwritten.
template <bool complex_data, class Transform, class Store>
CONVOLUME_DEVICE void store_short_results(const Store& storing, const SegmentJob<float>& job,
                                          const SegmentTarget* targets, int filter,
                                          typename Transform::ThreadSamples& v) {
    unroll<Transform::elements>([&](auto i) {
        if (!job.power)
            v[i] = conjugate(v[i]);
        else if constexpr (complex_data)
            v[i].re = v[i].re * v[i].re + v[i].im * v[i].im;
        else
            v[i] = {v[i].re * v[i].re, v[i].im * v[i].im};
    });
    if constexpr (!complex_data) {
        storing.template store_short<true>(targets, filter, v, true);
    } else if (job.power) {
        storing.template store_short<false, SampleWord>(targets, filter, v, false);
    } else {
        storing.template store_short<false, std::uint32_t>(targets, filter, v, true);
    }
}

/// The body of the CUDA kernel. Function is NoFunction, or a caller's with present = true and
/// operator()(const Sample*). Only with `any_storage`, signals or results may have 16 bits; results
/// of peaks have not.
template <class Real, int N, bool complex_data, bool any_storage = false, class Function,
          class Context>
CONVOLUME_DEVICE void filter_segments(const Context& context, const SegmentJob<Real>& job,
                                      const Function& function) {
    using Shape = SegmentShape<Real, N, complex_data>;
    using Transform = SegmentTransform<Real, Shape>;
    using Memory = SegmentMemory<Real, Shape, Context>;
    using ThreadSamples = typename Transform::ThreadSamples;
    constexpr int threads = Transform::threads;

    const int lane = context.thread() / threads;
    const int thread = context.thread() % threads;
    char* const memory = context.shared() + lane * Shape::segment_bytes;
    const Memory exchange{context, memory};

    // Consecutive thread blocks use the same filters, whose spectra are then in the caches.
    constexpr int together = complex_data ? 1 : 2, per_block = Shape::segments * together;
    const index_t blocks_per_filters = (job.segments + per_block - 1) / per_block;
    const index_t filters_block = context.block() / blocks_per_filters;
    const index_t segments_block = context.block() - filters_block * blocks_per_filters;
    const int first_filter = static_cast<int>(filters_block) * job.filters_per_block;
    const int end_filter = first_filter + job.filters_per_block < job.filters
                               ? first_filter + job.filters_per_block
                               : job.filters;
    const index_t segment = (segments_block * Shape::segments + lane) * together;

    ThreadSamples v;
    SegmentTarget targets[static_cast<unsigned>(together)];
    unroll<together>([&](auto which) { targets[which] = segment_target(job, segment + which); });
    bool is_plain = true;
    if constexpr (any_storage) is_plain = job.storage.source == SampleStorage::plain;
    if (is_plain) read_plain<Real, complex_data, Transform>(context, job, segment, thread, v);
    if constexpr (any_storage) {
        if (!is_plain) read_short<complex_data, Transform>(context, job, segment, thread, v);
    }
    typename Transform::Twiddles twiddles(context, thread, job.twiddles);
    Transform::forward(exchange, thread, v, twiddles);

    const SegmentSpectrum<Real, Shape> held(memory, thread, v);
    int exchange_number = 0;
    for (int filter = first_filter; filter < end_filter; ++filter) {
        const Complex<Real>* const spectrum = job.spectra + static_cast<index_t>(filter) * N;
        held.multiply(context, spectrum, thread, v);
        twiddles.forget(context);
        exchange_number = (exchange_number + 1) % Shape::exchanges;
        char* const exchange_memory = memory + exchange_number * Shape::exchange_bytes;
        Transform::back(Memory{context, exchange_memory}, thread, v, twiddles);
        const SegmentStore<Real, Shape, Context> storing(context, exchange_memory, job, thread);
        const auto store = [&](int which, const auto& value) {
            storing.store(targets[which], filter, function, value);
        };

        if constexpr (any_storage) {
            if (job.storage.target != SampleStorage::plain) {
                store_short_results<complex_data, Transform>(storing, job, targets, filter, v);
                continue;
            }
        }
        // A caller's function is applied in place of the power.
        const bool power = !Function::present && job.power;
        if constexpr (complex_data) {
            if constexpr (!Function::present) {
                if (power) store(0, [&](auto i) { return v[i].re * v[i].re + v[i].im * v[i].im; });
            }
            if (!power) store(0, [&](auto i) { return conjugate(v[i]); });
        } else if (power) {
            store(0, [&](auto i) { return v[i].re * v[i].re; });
            store(1, [&](auto i) { return v[i].im * v[i].im; });
        } else {
            store(0, [&](auto i) { return v[i].re; });
            store(1, [&](auto i) { return -v[i].im; });
        }
    }
}

/// The body of the CUDA kernel that computes the spectra of filters. They are scaled by 1/N, and in
/// the order in which filter_segments() reads them.
template <class Real, int N, bool complex_data, class Context>
CONVOLUME_DEVICE void transform_filters(const Context& context, const SpectraJob<Real>& job) {
    using Shape = SegmentShape<Real, N, complex_data>;
    using Transform = SegmentTransform<Real, Shape>;
    using Sample = std::conditional_t<complex_data, Complex<Real>, Real>;
    constexpr int threads = Transform::threads;

    const int lane = context.thread() / threads;
    const int thread = context.thread() % threads;
    char* const memory = context.shared() + lane * Shape::segment_bytes;
    const index_t filter = context.block() * Shape::segments + lane;
    const bool inside = filter < job.filters;
    const auto* const taps = static_cast<const Sample*>(job.taps) + filter * job.taps_each;
    typename Transform::ThreadSamples v;
    unroll<Transform::elements>([&](auto i) {
        const int position = thread + i * threads;
        Sample tap{};
        if (inside && position < job.taps_each) tap = context.load(taps + position);
        constexpr Real scale = Real(1) / N;
        if constexpr (complex_data) {
            v[i] = scale * tap;
        } else {
            v[i] = {scale * tap, 0};
        }
    });
    typename Transform::Twiddles twiddles(context, thread, job.twiddles);
    Transform::forward(SegmentMemory<Real, Shape, Context>{context, memory}, thread, v, twiddles);
    if (!inside) return;
    auto* const target = job.spectra + filter * N + 2 * thread;
    unroll<Transform::elements>([&](auto i) {
        constexpr int e = decltype(i)::value;
        target[e / 2 * 2 * threads + e % 2] = v[i];
    });
}

}  // namespace convolume::gpu
