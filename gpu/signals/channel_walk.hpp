// SPDX-License-Identifier: Apache-2.0
#pragma once
// The body of a CUDA kernel that channelizes critically sampled signals and reads every sample
// once. A thread block walks along consecutive frames. Most of its threads sum the phases of a
// batch of frames, while the others transform the batch before. A summing thread keeps the taps of
// its phases in registers, and their last samples in a ring buffer in shared memory, whose elements
// no other thread accesses, so that it needs no barrier. Terms are added in the order of
// channelize_frames(), and transforms are the same, so that results have the same bits.

#include "gpu/signals/channel_kernel.hpp"

namespace convolume::gpu {

/// The thread blocks and the memory of walk_frames() for N channels.
template <class Real, int N>
struct ChannelWalkShape {
    using Number = Real;
    using Frame = ChannelShape<Real, N>;
    static constexpr int channels = N;
    static constexpr int terms = 16;  ///< most taps of each channel
    static constexpr int batch = 4;   ///< number of frames that are summed at once
    static constexpr int lanes = 2;   ///< number of frames that are transformed at a time
    static constexpr int phases = 2;  ///< number of phases of a summing thread
    static constexpr int sum_threads = N / phases;
    static constexpr int transform_threads = lanes * Frame::threads_each;
    static constexpr int threads = transform_threads + sum_threads;
    static_assert(terms % batch == 0 && batch % lanes == 0 && sum_threads % 32 == 0 &&
                  threads % 32 == 0);
    /// Samples of the batches that later frames depend on, and then two batches of sums.
    static constexpr index_t ring_bytes = index_t{2} * sizeof(Real) * N * terms;
    static constexpr index_t shared_bytes = ring_bytes + 2 * batch * Frame::frame_bytes;
    static constexpr bool fits = sizeof(Real) == 4 && shared_bytes <= 232448;
    /// Number of thread blocks that a multiprocessor of compute capability 9 holds.
    static constexpr int blocks_per_unit = static_cast<int>(233472 / (shared_bytes + 1024));
    /// Least number of frames of a signal, and of a thread block. With fewer, reading the samples
    /// before them once more would cost too much.
    static constexpr index_t fewest_frames = 4 * terms;
};

/// The batches of frames that a thread block computes, one after another, of one signal or several.
struct ChannelWalk {
    int signal = 0;  ///< of the current batch
    int batch = 0;   ///< number of the current batch in its signal
    int left = 0;    ///< number of batches from the current one on

    /// Returns the part of all batches that belongs to a thread block.
    template <class Context, class Real>
    CONVOLUME_DEVICE static ChannelWalk of_block(const Context& context,
                                                 const ChannelJob<Real>& job) {
        const index_t begin = job.all_groups * context.block() / context.blocks();
        const index_t end = job.all_groups * (context.block() + 1) / context.blocks();
        const index_t signal = begin / job.groups;
        return {static_cast<int>(signal), static_cast<int>(begin - signal * job.groups),
                static_cast<int>(end - begin)};
    }
    /// Returns the place in shared memory of the sums of a frame of the current batch.
    template <class Shape>
    CONVOLUME_DEVICE int place(int frame) const {
        constexpr auto ring = static_cast<int>(Shape::ring_bytes);
        constexpr auto bytes = static_cast<int>(Shape::Frame::frame_bytes);
        return ring + (left % 2 * Shape::batch + frame) * bytes;
    }
    /// Whether the next batch continues the signal.
    CONVOLUME_DEVICE bool continues(index_t groups) const { return left > 1 && batch + 1 < groups; }
    CONVOLUME_DEVICE void advance(index_t groups) {
        --left;
        if (++batch == groups) {
            batch = 0;
            ++signal;
        }
    }
};

/// Waits for all threads of the thread block between a batch's sums and its transforms. The sums of
/// the next batch go where the transforms have already ended. (racecheck takes them for races if
/// frames have named barriers of their own; see tests/campaign/named_barriers.cu.)
template <class Shape, class Context>
CONVOLUME_DEVICE void hand_over(const Context& context) {
    context.sync_at(1, Shape::threads);
}

/// The part of the threads that sum. `all`: the prototype has as many terms as the shape.
template <class Shape, ChannelInput input, bool all, class Context, class Real>
CONVOLUME_DEVICE void walk_sums(const Context& context, const ChannelJob<Real>& job,
                                ChannelWalk walk) {
    using Load = ChannelLoad<Real, input>;
    using Sample = typename Load::Sample;
    using Frame = typename Shape::Frame;
    constexpr int N = Shape::channels, B = Shape::batch, T = Shape::terms;
    constexpr int phases = Shape::phases, spacing = Shape::sum_threads, turns = T / B;
    const int j = context.thread() - Shape::transform_threads, skipped = all ? 0 : T - job.terms;

    Real taps[static_cast<unsigned>(phases)][static_cast<unsigned>(T)];
    int handed[static_cast<unsigned>(phases)];
    // The samples of a batch that no frame before depends on.
    Sample fresh[static_cast<unsigned>(phases)][static_cast<unsigned>(B)];
    unroll<phases>([&](auto p) {
        const int phase = j + decltype(p)::value * spacing;
        handed[p] = Frame::handed(Frame::place((phase + job.rotation(0)) % N));
        unroll<T>([&](auto q) {
            taps[p][q] = Real(0);
            if (all || q >= skipped)
                taps[p][q] = context.load(job.taps + index_t{q - skipped} * N + phase);
        });
    });
    // Reads the fresh samples of phase number p.
    const auto read = [&](int batch, auto p) {
        const index_t from = job.first + (index_t{batch} * B - 1) * N + 1;
        const index_t place = from + j + decltype(p)::value * spacing;
        const auto* const source = static_cast<const typename Load::Stored*>(job.source) +
                                   walk.signal * job.source_stride + place;
        const auto load = [&](auto i) {
            fresh[p][i] = Load::sample(context.load_once(source + decltype(i)::value * N));
        };
        if (from >= 0 && from + index_t{B} * N <= job.samples) {
            unroll<B>(load);
        } else {
            unroll<B>([&](auto i) {
                const index_t t = place + decltype(i)::value * N;
                fresh[p][i] = {};
                if (t >= 0 && t < job.samples) load(i);
            });
        }
    };
    // The samples of the current batch replace those of `turns` batches ago in the ring.
    auto* const ring = reinterpret_cast<Sample*>(context.shared()) + j;
    const auto ring_batch = [&](int ago) { return ring + (walk.left + ago) % turns * (B * N); };
    const auto keep = [&](int ago, auto p) {
        unroll<B>([&](auto i) {
            constexpr int offset = decltype(i)::value * N + decltype(p)::value * spacing;
            ring_batch(ago)[offset] = fresh[p][i];
        });
    };

    bool continued = false;
    CONVOLUME_NO_UNROLL
    for (; walk.left > 0; walk.advance(job.groups)) {
        if (!continued) {
            CONVOLUME_NO_UNROLL
            for (int ago = turns; ago > 0; --ago)
                unroll<phases>([&](auto p) {
                    read(walk.batch - ago, p);
                    keep(ago, p);
                });
            unroll<phases>([&](auto p) { read(walk.batch, p); });
        }
        continued = walk.continues(job.groups);
        unroll<phases>([&](auto p) {
            constexpr int at = decltype(p)::value * spacing;
            Sample sums[static_cast<unsigned>(B)];
            unroll<B>([&](auto f) { sums[f] = {}; });
            // Row w of the ring, and of the fresh samples behind, meets tap w - f - 1 of frame f.
            unroll<T + B - 1>([&](auto before) {
                constexpr int w = decltype(before)::value + 1;
                if (!all && w <= skipped) return;
                Sample sample;
                if constexpr (w < T)
                    sample = ring_batch(turns - w / B)[w % B * N + at];
                else
                    sample = fresh[p][w - T];
                unroll<B>([&](auto f) {
                    constexpr int q = w - decltype(f)::value - 1;
                    if constexpr (q >= 0 && q < T)
                        if (all || q >= skipped) add_tap(sums[f], taps[p][q], sample);
                });
            });
            unroll<B>([&](auto f) {
                char* const memory = context.shared() + walk.template place<Shape>(f);
                reinterpret_cast<Complex<Real>*>(memory)[handed[p]] = as_complex(sums[f]);
            });
            keep(0, p);
            if (continued) read(walk.batch + 1, p);
        });
        hand_over<Shape>(context);
    }
}

/// The thread block as the threads of a frame see it: the threads of other frames and those that
/// sum take no part in its barriers.
template <class Context>
struct FrameThreads : Context {
    template <int threads>
    CONVOLUME_DEVICE void sync_some() const {
        if constexpr (threads <= 32)
            Context::template sync_some<threads>();
        else
            Context::sync_at(2 + Context::thread() / threads, threads);
    }
};

/// The part of the threads that transform.
template <class Shape, class Context, class Real>
CONVOLUME_DEVICE void walk_transforms(const Context& context, const ChannelJob<Real>& job,
                                      ChannelWalk walk) {
    using Frame = typename Shape::Frame;
    const int lane = context.thread() / Frame::threads_each;
    const int thread = context.thread() % Frame::threads_each;
    const FrameThreads<Context> frame_threads{context};

    CONVOLUME_NO_UNROLL
    for (; walk.left > 0; walk.advance(job.groups)) {
        hand_over<Shape>(context);
        CONVOLUME_NO_UNROLL
        for (int frame = lane; frame < Shape::batch; frame += Shape::lanes) {
            // Adds 0, which the compiler does not know: it would keep the twiddle factors of a
            // thread in registers from frame to frame, and have too few for the rest.
            const int own = thread + (context.forget(walk.left) >> 31);
            transform_frame<Frame, true>(frame_threads, job, walk.template place<Shape>(frame), own,
                                         walk.signal, index_t{walk.batch} * Shape::batch + frame);
        }
    }
}

/// The body of the CUDA kernel for a ChannelWalkShape.
template <class Shape, class Context, class Real = typename Shape::Number>
CONVOLUME_DEVICE void walk_frames(const Context& context, const ChannelJob<Real>& job) {
    const ChannelWalk walk = ChannelWalk::of_block(context, job);
    if (context.thread() < Shape::transform_threads)
        return walk_transforms<Shape>(context, job, walk);
    with_input(job, [&](auto which) {
        constexpr auto input = static_cast<ChannelInput>(decltype(which)::value);
        if (job.terms == Shape::terms)
            walk_sums<Shape, input, true>(context, job, walk);
        else
            walk_sums<Shape, input, false>(context, job, walk);
    });
}

}  // namespace convolume::gpu
