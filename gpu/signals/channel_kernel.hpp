// SPDX-License-Identifier: Apache-2.0
#pragma once
// The bodies of the CUDA kernels of polyphase filter banks. channelize_frames() does all in one
// CUDA kernel: a thread block sums the taps of every phase for several consecutive frames, so that
// a sample in a register serves all of them, and transforms these frames in shared memory. The
// samples that consecutive thread blocks have in common come from the second cache, so that device
// memory is read about once. sum_frames() only sums, for transforms by cuFFT.

#include "convolume/cuda/detail/segment_transform.hpp"

namespace convolume::gpu {

/// Type of the samples in memory.
enum class ChannelInput {
    real,
    complex,
    pairs8,   ///< int8 real part, int8 imaginary part
    pairs16,  ///< int16 real part, int16 imaginary part
};

/// Arguments of the CUDA kernels. Frames are computed as in core/channel_spec.hpp.
template <class Real>
struct ChannelJob {
    const void* source = nullptr;  ///< sample 0 of the first signal
    ChannelInput input = ChannelInput::complex;
    index_t source_stride = 0;                ///< samples from one signal to the next
    index_t samples = 0;                      ///< samples of each signal; others are zero
    const Real* taps = nullptr;               ///< backward: terms × channels
    const Complex<Real>* twiddles = nullptr;  ///< table, see TransformPlan::first_twiddle()
    void* target = nullptr;  ///< frames, or of sum_frames() sums: signals × frames × row
    index_t target_row = 0;  ///< elements from one row of `target` to the next
    index_t frames = 0;      ///< number of frames of each signal
    index_t first = 0;       ///< last sample that frame 0 depends on
    /// Thread blocks of each signal, or in sum_frames() of each block of phases; in walk_frames()
    /// batches of frames of each signal.
    index_t groups = 0;
    index_t all_groups = 0;  ///< batches of frames of all signals, for walk_frames()
    int channels = 0, step = 0, terms = 0;
    int stored = 0;  ///< channels that are stored

    CONVOLUME_DEVICE index_t first_sample(index_t frame) const {
        return first + frame * step - static_cast<index_t>(channels) * terms + 1;
    }
    /// Returns the position in a transform of the first sample that a frame depends on.
    CONVOLUME_DEVICE int rotation(index_t frame) const {
        return static_cast<int>((first + frame * step + 1) % channels);
    }
};

/// Samples in memory as numbers of the computation.
template <class Real, ChannelInput input>
struct ChannelLoad;
template <class Real>
struct ChannelLoad<Real, ChannelInput::real> {
    using Stored = Real;
    using Sample = Real;
    CONVOLUME_DEVICE static Sample sample(Stored value) { return value; }
};
template <class Real>
struct ChannelLoad<Real, ChannelInput::complex> {
    using Stored = Complex<Real>;
    using Sample = Complex<Real>;
    CONVOLUME_DEVICE static Sample sample(Stored value) { return value; }
};
template <class Real>
struct ChannelLoad<Real, ChannelInput::pairs8> {
    using Stored = unsigned short;
    using Sample = Complex<Real>;
    CONVOLUME_DEVICE static Sample sample(unsigned pair) {
        return {static_cast<Real>(static_cast<signed char>(pair & 0xff)),
                static_cast<Real>(static_cast<signed char>(pair >> 8))};
    }
};
template <class Real>
struct ChannelLoad<Real, ChannelInput::pairs16> {
    using Stored = unsigned;
    using Sample = Complex<Real>;
    CONVOLUME_DEVICE static Sample sample(unsigned pair) {
        return {static_cast<Real>(static_cast<short>(pair & 0xffff)),
                static_cast<Real>(static_cast<short>(pair >> 16))};
    }
};

template <class Real>
CONVOLUME_DEVICE void add_tap(Real& sum, Real tap, Real sample) {
    sum += tap * sample;
}
template <class Real>
CONVOLUME_DEVICE void add_tap(Complex<Real>& sum, Real tap, Complex<Real> sample) {
    sum.re += tap * sample.re;
    sum.im += tap * sample.im;
}
template <class Real>
CONVOLUME_DEVICE Complex<Real> as_complex(Real value) {
    return {value, Real(0)};
}
template <class Real>
CONVOLUME_DEVICE Complex<Real> as_complex(Complex<Real> value) {
    return value;
}

/// Sums the taps of phase j for `Frames` consecutive frames from `frame` on. Terms are added by
/// increasing tap. `inside`: all samples are in memory, also those of frames beyond the last one.
template <int Frames, ChannelInput input, bool inside, class Real, class Context, class Sum>
CONVOLUME_DEVICE void sum_phase(const Context& context, const ChannelJob<Real>& job, index_t signal,
                                index_t frame, int j, Sum* sums) {
    using Load = ChannelLoad<Real, input>;
    const index_t from = job.first_sample(frame) + j;
    const auto* const source =
        static_cast<const typename Load::Stored*>(job.source) + signal * job.source_stride + from;
    const auto is_there = [&](index_t offset) {
        return inside || (from + offset >= 0 && from + offset < job.samples);
    };
    const Real* const taps = job.taps + j;
    const int row = job.channels;
    unroll<Frames>([&](auto f) { sums[f] = {}; });
    if (job.step == row) {
        // The sample of frame f at a tap is that of frame f + 1 at the tap before. Each is loaded
        // once, so that the first cache is left to the taps.
        const auto sample = [&](index_t offset) -> typename Load::Sample {
            if (is_there(offset)) return Load::sample(context.load_once(source + offset));
            return {};
        };
        typename Load::Sample held[static_cast<unsigned>(Frames)];
        unroll<Frames - 1>([&](auto f) { held[f] = sample(static_cast<index_t>(f) * row); });
        CONVOLUME_NO_UNROLL
        for (int begin = 0; begin < job.terms; begin += Frames)
            unroll<Frames>([&](auto u) {
                constexpr int turn = decltype(u)::value;
                const int q = begin + turn;
                if (q < job.terms) {
                    const Real tap = context.load(taps + static_cast<index_t>(q) * row);
                    held[(turn + Frames - 1) % Frames] =
                        sample(static_cast<index_t>(q + Frames - 1) * row);
                    unroll<Frames>([&](auto f) {
                        constexpr int slot = (turn + decltype(f)::value) % Frames;
                        add_tap(sums[f], tap, held[slot]);
                    });
                }
            });
    } else {
        const auto sample = [&](index_t offset) -> typename Load::Sample {
            if (is_there(offset)) return Load::sample(context.load(source + offset));
            return {};
        };
        for (int q = 0; q < job.terms; ++q) {
            const Real tap = context.load(taps + static_cast<index_t>(q) * row);
            unroll<Frames>([&](auto f) {
                add_tap(sums[f], tap,
                        sample(static_cast<index_t>(q) * row +
                               static_cast<index_t>(decltype(f)::value) * job.step));
            });
        }
    }
}

/// Calls store(f, sum) for `Frames` consecutive frames from `frame` on, with the sums of phase j.
template <int Frames, ChannelInput input, class Real, class Context, class Store>
CONVOLUME_DEVICE void sum_and_store(const Context& context, const ChannelJob<Real>& job,
                                    index_t signal, index_t frame, int j, const Store& store) {
    typename ChannelLoad<Real, input>::Sample sums[static_cast<unsigned>(Frames)];
    const index_t end =
        job.first_sample(frame + Frames - 1) + static_cast<index_t>(job.channels) * (job.terms + 1);
    if (job.first_sample(frame) >= 0 && end <= job.samples)
        sum_phase<Frames, input, true>(context, job, signal, frame, j, sums);
    else
        sum_phase<Frames, input, false>(context, job, signal, frame, j, sums);
    unroll<Frames>([&](auto f) { store(decltype(f)::value, sums[f]); });
}

/// Calls f(Constant<input>) for the type of the samples in memory.
template <class Real, class F>
CONVOLUME_DEVICE void with_input(const ChannelJob<Real>& job, const F& f) {
    switch (job.input) {
        case ChannelInput::real:
            return f(Constant<static_cast<int>(ChannelInput::real)>{});
        case ChannelInput::complex:
            return f(Constant<static_cast<int>(ChannelInput::complex)>{});
        case ChannelInput::pairs8:
            return f(Constant<static_cast<int>(ChannelInput::pairs8)>{});
        case ChannelInput::pairs16:
            return f(Constant<static_cast<int>(ChannelInput::pairs16)>{});
    }
}

/// Division of the work of channelize_frames() among thread blocks and their threads.
struct ChannelDivision {
    int frames;   ///< number of frames of a thread block
    int lanes;    ///< number of frames that are transformed at a time
    int at_once;  ///< number of frames whose sums a thread has in registers
    int blocks;   ///< number of thread blocks that a multiprocessor of compute capability 9 holds
};

/// Returns the division for n channels, with numbers of that many bytes. The more frames a thread
/// sums at once, the fewer samples and taps it reads, as each serves all of them. The smaller a
/// thread block, the more of them sum while others transform. Measured on an H100.
CONVOLUME_CONSTEXPR ChannelDivision channel_division(int n, int bytes) {
    if (bytes == 8) {
        const int frames = 4096 / n;
        return {frames, frames, frames < 8 ? frames : 8, 2};
    }
    switch (n) {
        case 256:
            return {16, 8, 16, 5};
        case 512:
            return {16, 8, 16, 3};
        case 1024:
            return {8, 8, 8, 2};
        case 2048:
            return {4, 4, 4, 2};
        default:
            return {6, 2, 6, 1};
    }
}

/// The thread blocks and the memory of channelize_frames() for N channels.
template <class Real, int N, ChannelDivision division = channel_division(N, sizeof(Real))>
struct ChannelShape {
    using Number = Real;
    static constexpr int channels = N;
    static constexpr TransformPlan plan = segment_plan(N);
    static_assert(keeps_segment_rules(plan));
    static constexpr int threads_each = plan.threads;  ///< threads of each transform
    static constexpr int frames = division.frames;     ///< number of frames of a thread block
    static constexpr int lanes = division.lanes;
    static_assert(frames % lanes == 0);
    static constexpr int threads = threads_each * lanes;  ///< threads of a thread block
    /// Threads that share the phases of a frame, and sets of such threads.
    static constexpr int width = threads < N ? threads : N;
    static constexpr int sets = threads / width;
    static constexpr int frames_at_once = division.at_once;
    static_assert(threads % width == 0 && frames % (sets * frames_at_once) == 0);
    static constexpr bool exchanges_whole = true;
    static constexpr int exchanges = 1;
    static constexpr bool twiddles_loaded = true;

    CONVOLUME_CONSTEXPR static int padded(int place) { return place + place / 16; }
    /// Returns the index of the sample of a place between sums and transform. Neighboring phases
    /// are width(0) places apart, and use different banks.
    CONVOLUME_CONSTEXPR static int handed(int place) {
        constexpr int width = plan.width(0);
        return padded(place) + (width > 16 ? place / width : 0);
    }
    /// Returns the place that holds the input k of the transform back.
    CONVOLUME_DEVICE static int place(int k) {
        int at = 0;
        unroll<plan.stages>([&](auto s) {
            constexpr int radix = plan.radix[decltype(s)::value];
            constexpr int width = plan.width(decltype(s)::value);
            at += k % radix * width;
            k /= radix;
        });
        return at;
    }
    static constexpr index_t frame_bytes = index_t{2} * sizeof(Real) * (handed(N - 1) + 1);
    static constexpr index_t shared_bytes = frames * frame_bytes;
    static constexpr bool fits = shared_bytes <= 232448;
    static constexpr int blocks_per_unit = division.blocks;
};

/// Transforms the sums of a frame in `memory`, and stores its channels. `thread` is one of the
/// threads of the frame. `again`: the thread transforms further frames later.
template <class Shape, bool again, class Context, class Real>
CONVOLUME_DEVICE void transform_frame(const Context& context, const ChannelJob<Real>& job,
                                      int offset, int thread, index_t signal, index_t frame) {
    using Transform = SegmentTransform<Real, Shape>;
    // The compiler would keep the addresses and twiddle factors of a thread in registers from frame
    // to frame, although they are computed and loaded in little time.
    const Complex<Real>* table = job.twiddles;
    if constexpr (again) {
        offset = context.forget(offset);
        thread = context.forget(thread);
        context.forget(table);
    }
    char* const memory = context.shared() + offset;
    typename Transform::ThreadSamples v;
    const auto* const handed = reinterpret_cast<const Complex<Real>*>(memory);
    constexpr int last = Shape::plan.last();
    // A thread's places follow a multiple of 16, so that handed() of a sum is that of its parts.
    const int place = Shape::handed(Transform::template place<last>(thread));
    unroll<Transform::elements>([&](auto i) {
        constexpr int step = Transform::template step<last>(decltype(i)::value);
        v[i] = handed[place + Shape::handed(step)];
    });
    const typename Transform::Twiddles twiddles(context, thread, table);
    const SegmentMemory<Real, Shape, Context> exchange{context, memory};
    Transform::back(exchange, thread, v, twiddles);

    if (frame >= job.frames) return;
    auto* const target = static_cast<Complex<Real>*>(job.target) +
                         (signal * job.frames + frame) * job.target_row + thread;
    unroll<Transform::elements>([&](auto i) {
        constexpr int k = decltype(i)::value * Transform::threads;
        // The first half of the channels is always stored.
        if (k < Transform::plan.n / 2 || thread + k < job.stored) context.store(target + k, v[i]);
    });
}

/// The body of the CUDA kernel for a ChannelShape. Thread blocks follow the frames of a signal.
template <class Shape, class Context, class Real = typename Shape::Number>
CONVOLUME_DEVICE void channelize_frames(const Context& context, const ChannelJob<Real>& job) {
    constexpr int N = Shape::channels;
    const index_t signal = context.block() / job.groups;
    const index_t first = (context.block() - signal * job.groups) * Shape::frames;
    const auto memory_of = [&](int frame) {
        return reinterpret_cast<Complex<Real>*>(context.shared() + frame * Shape::frame_bytes);
    };

    constexpr int at_once = Shape::frames_at_once, set_frames = Shape::frames / Shape::sets;
    const int set = context.thread() / Shape::width;
    with_input(job, [&](auto which) {
        constexpr auto input = static_cast<ChannelInput>(decltype(which)::value);
        CONVOLUME_NO_UNROLL
        for (int f = set * set_frames; f < (set + 1) * set_frames; f += at_once) {
            const int rotation = job.rotation(first + f);
            CONVOLUME_NO_UNROLL
            for (int j = context.thread() % Shape::width; j < N; j += Shape::width)
                sum_and_store<at_once, input>(
                    context, job, signal, first + f, j, [&](int i, const auto& sum) {
                        const int k = (j + rotation + i * job.step) % N;
                        memory_of(f + i)[Shape::handed(Shape::place(k))] = as_complex(sum);
                    });
        }
    });
    context.sync();

    const int lane = context.thread() / Shape::threads_each;
    const int thread = context.thread() % Shape::threads_each;
    const auto transform = [&](int f) {
        constexpr bool again = Shape::lanes < Shape::frames;
        transform_frame<Shape, again>(context, job, static_cast<int>(f * Shape::frame_bytes),
                                      thread, signal, first + f);
    };
    if constexpr (Shape::lanes == Shape::frames) {
        transform(lane);
    } else {
        CONVOLUME_NO_UNROLL
        for (int f = lane; f < Shape::frames; f += Shape::lanes) transform(f);
    }
}

/// Thread blocks of sum_frames().
struct ChannelSumShape {
    static constexpr int threads = 256, frames = 8;
};

/// The body of the CUDA kernel that sums for any number of channels. A thread sums a phase of
/// several frames; thread blocks follow the phases, then the frames, then the signals.
template <class Real, class Context>
CONVOLUME_DEVICE void sum_frames(const Context& context, const ChannelJob<Real>& job) {
    constexpr int frames = ChannelSumShape::frames;
    const int widths = (job.channels + ChannelSumShape::threads - 1) / ChannelSumShape::threads;
    const index_t group = context.block() / widths;
    const int j = static_cast<int>(context.block() - group * widths) * ChannelSumShape::threads +
                  context.thread();
    if (j >= job.channels) return;
    const index_t signal = group / job.groups;
    const index_t first = (group - signal * job.groups) * frames;
    with_input(job, [&](auto which) {
        constexpr auto input = static_cast<ChannelInput>(decltype(which)::value);
        using Sum = typename ChannelLoad<Real, input>::Sample;
        const int rotation = job.rotation(first);
        sum_and_store<frames, input>(context, job, signal, first, j, [&](int i, const Sum& sum) {
            if (first + i >= job.frames) return;
            const int k = static_cast<int>((j + rotation + static_cast<index_t>(i) * job.step) %
                                           job.channels);
            static_cast<Sum*>(job.target)[(signal * job.frames + first + i) * job.target_row + k] =
                sum;
        });
    });
}

}  // namespace convolume::gpu
