// SPDX-License-Identifier: Apache-2.0
#pragma once
// The transform of a segment, held by the threads of a thread block: decimation in frequency, in
// place. forward() takes samples t, t + threads, … of a thread and leaves frequencies in an order
// of its own; back() is the transposed flow (the DFT matrix is symmetric), so that nothing is
// reordered: it takes that order and leaves samples where forward() took them.

#include <type_traits>

#include "convolume/cuda/detail/codelets.hpp"
#include "convolume/cuda/detail/transform_plan.hpp"
#include "convolume/shape.hpp"

namespace convolume::gpu {

/// The plan for segments of n samples: stage s combines radix[s] samples of each transform of
/// length(s), width(s) apart, in place. Thread t of a segment computes the butterflies t, t +
/// threads, … of every stage. Two rules keep a thread's twiddle factors and addresses few: the
/// first radix is the number of samples a thread holds, and the threads are a multiple of every
/// other width, so that all butterflies of a thread in a stage are at the same position of their
/// transforms.
CONVOLUME_CONSTEXPR TransformPlan segment_plan(int n) {
    if (n == 256) return {n, 2, {16, 16, 1}, 16, 16};
    const int elements = n <= 4096 ? 16 : 32;
    return {n, 3, {elements, n / elements / 16, 16}, n / elements, elements};
}

CONVOLUME_CONSTEXPR bool keeps_segment_rules(const TransformPlan& plan) {
    for (int s = 1; s < plan.stages; ++s)
        if (plan.threads % plan.width(s) != 0 || plan.elements % plan.radix[s] != 0) return false;
    return plan.width(plan.last()) == 1;
}

/// The thread blocks of a kernel over segments of N samples. What is held where was measured on an
/// H200.
template <class Real, int N, bool complex_data>
struct SegmentShape {
    static constexpr TransformPlan plan = segment_plan(N);
    static_assert(keeps_segment_rules(plan));
    static constexpr int threads_each = plan.threads;
    /// Segments side by side in a thread block, for two warps at least.
    static constexpr int segments = threads_each < 64 ? 64 / threads_each : 1;
    static constexpr int threads = threads_each * segments;
    static constexpr bool is_long = N > 4096;
    /// Where registers do not hold a segment's spectrum beside its samples, it is in shared memory.
    static constexpr bool spectrum_in_registers = !is_long;
    /// Samples are exchanged whole, or real parts first and then imaginary ones, for half the
    /// memory.
    static constexpr bool whole = !is_long;
    /// Memory for exchanges, used alternately by filters, so that none waits for the one before.
    static constexpr int exchanges = is_long ? 1 : 2;
    /// Twiddle factors are loaded for each use, or made of a few in registers.
    static constexpr bool twiddles_loaded = !is_long && !complex_data;

    CONVOLUME_CONSTEXPR static int padded(int place) { return place + place / 16; }
    static constexpr index_t exchange_bytes =
        (static_cast<index_t>(sizeof(Real)) * (whole ? 2 : 1) * padded(N) + 15) / 16 * 16;
    static constexpr index_t spectrum_bytes =
        spectrum_in_registers ? 0 : index_t{2} * sizeof(Real) * N;
    static constexpr index_t segment_bytes = exchanges * exchange_bytes + spectrum_bytes;
    static constexpr index_t shared_bytes = segments * segment_bytes;
    static constexpr bool fits = shared_bytes <= 232448;
    /// Blocks that a multiprocessor (of compute capability 9) holds: its registers are in four
    /// parts, each for a quarter of the warps.
    static constexpr int blocks_per_unit = [] {
        const int registers = sizeof(Real) == 4 ? 128 : 255;  // of a thread
        const int warps = 4 * (16384 / 32 / registers);
        const auto by_memory = static_cast<int>(232448 / (shared_bytes + 1024));
        const int by_registers = warps * 32 / threads;
        const int blocks = by_memory < by_registers ? by_memory : by_registers;
        return blocks < 1 ? 1 : blocks;
    }();
};

/// The twiddle factors of one thread, loaded when they are needed.
template <class Real, class Shape>
class LoadedTwiddles {
  public:
    static constexpr TransformPlan plan = Shape::plan;

    template <class Context>
    CONVOLUME_DEVICE LoadedTwiddles(const Context&, int thread, const Complex<Real>* table) {
        unroll<plan.last()>([&](auto s) {
            constexpr int stage = decltype(s)::value;
            rows_[stage] = table + plan.first_twiddle(stage) + thread % plan.width(stage);
        });
    }
    /// The compiler knows nothing of them any more: it would keep them all in registers from filter
    /// to filter.
    template <class Context>
    CONVOLUME_DEVICE void forget(const Context& context) {
        unroll<plan.last()>([&](auto s) { context.forget(rows_[s]); });
    }
    /// f(Constant<i>, factor) for rows i of a stage.
    template <int Stage, class Context, class F>
    CONVOLUME_DEVICE void each(const Context& context, const F& f) const {
        constexpr int rows = plan.radix[Stage] - 1, width = plan.width(Stage);
        unroll<rows>([&](auto row) {
            constexpr int i = decltype(row)::value;
            f(Constant<i + 1>{}, context.load(rows_[Stage] + i * width));
        });
    }

  private:
    const Complex<Real>* rows_[3];
};

/// The twiddle factors of one thread: those of rows 1, 2, 4, …, in registers, of which the others
/// are products. Each is correct to a few roundings.
template <class Real, class Shape>
class RegisterTwiddles {
  public:
    static constexpr TransformPlan plan = Shape::plan;

    template <class Context>
    CONVOLUME_DEVICE RegisterTwiddles(const Context& context, int thread,
                                      const Complex<Real>* table) {
        const LoadedTwiddles<Real, Shape> all(context, thread, table);
        each_power([&](auto which, auto power) {
            constexpr int stage = decltype(which)::value, row = 1 << decltype(power)::value;
            all.template each<stage>(context, [&](auto i, Complex<Real> factor) {
                if constexpr (decltype(i)::value == row) powers_[stage][power] = factor;
            });
        });
    }
    template <class Context>
    CONVOLUME_DEVICE void forget(const Context& context) {
        each_power([&](auto stage, auto power) { context.forget(powers_[stage][power]); });
    }
    template <int Stage, class Context, class F>
    CONVOLUME_DEVICE void each(const Context&, const F& f) const {
        constexpr int radix = plan.radix[Stage];
        Samples<Real, radix> factors;
        unroll<radix - 1>([&](auto row) {
            constexpr int i = decltype(row)::value + 1, top = highest_bit(i), rest = i - (1 << top);
            factors[i] = powers_[Stage][top];
            if constexpr (rest > 0) factors[i] = factors[i] * factors[rest];
            f(Constant<i>{}, factors[i]);
        });
    }

  private:
    static constexpr int most_powers = 5;

    CONVOLUME_CONSTEXPR static int highest_bit(int i) {
        int bit = 0;
        while (i >> (bit + 1)) ++bit;
        return bit;
    }
    template <class F>
    CONVOLUME_DEVICE static void each_power(const F& f) {
        unroll<plan.last()>([&](auto stage) {
            constexpr int radix = plan.radix[decltype(stage)::value];
            unroll<most_powers>([&](auto power) {
                if constexpr ((1 << decltype(power)::value) < radix) f(stage, power);
            });
        });
    }

    Samples<Real, most_powers> powers_[3];
};

template <class Real, class Shape>
class SegmentTransform {
  public:
    static constexpr TransformPlan plan = Shape::plan;
    static constexpr int elements = plan.elements, threads = plan.threads;
    using ThreadSamples = Samples<Real, elements>;
    using Twiddles = std::conditional_t<Shape::twiddles_loaded, LoadedTwiddles<Real, Shape>,
                                        RegisterTwiddles<Real, Shape>>;

    template <class Memory>
    CONVOLUME_DEVICE static void forward(const Memory& memory, int thread, ThreadSamples& v,
                                         const Twiddles& twiddles) {
        unroll<plan.stages - 1>([&](auto s) {
            constexpr int stage = decltype(s)::value;
            transform<stage>(v);
            twiddle<stage>(memory.context, v, twiddles);
            if constexpr (stage == 0) memory.sync();
            memory.template exchange<stage, stage + 1>(thread, v);
        });
        transform<plan.last()>(v);
    }

    /// `memory` is not that of the transform before, or there is one barrier more.
    template <class Memory>
    CONVOLUME_DEVICE static void back(const Memory& memory, int thread, ThreadSamples& v,
                                      const Twiddles& twiddles) {
        transform<plan.last()>(v);
        if constexpr (Shape::exchanges == 1) memory.sync();
        unroll<plan.stages - 1>([&](auto s) {
            constexpr int stage = plan.last() - 1 - decltype(s)::value;
            memory.template exchange<stage + 1, stage>(thread, v);
            twiddle<stage>(memory.context, v, twiddles);
            transform<stage>(v);
        });
    }

    /// Place, less padding, of butterfly 0 of `thread` in a stage.
    template <int Stage>
    CONVOLUME_DEVICE static int place(int thread) {
        constexpr int width = plan.width(Stage), length = plan.length(Stage);
        return thread / width * length + thread % width;
    }
    /// From there to the place of sample i of butterfly q, held at i + q·radix.
    template <int Stage>
    CONVOLUME_CONSTEXPR static int step(int held) {
        constexpr int width = plan.width(Stage), length = plan.length(Stage);
        const int i = held % plan.radix[Stage], q = held / plan.radix[Stage];
        return i * width + q * (threads / width) * length;
    }

  private:
    template <int Stage>
    CONVOLUME_DEVICE static void transform(ThreadSamples& v) {
        constexpr int radix = plan.radix[Stage];
        unroll<elements / radix>([&](auto q) { dft<radix>(&v[q * radix]); });
    }

    template <int Stage, class Context>
    CONVOLUME_DEVICE static void twiddle(const Context& context, ThreadSamples& v,
                                         const Twiddles& twiddles) {
        constexpr int radix = plan.radix[Stage];
        twiddles.template each<Stage>(context, [&](auto i, Complex<Real> factor) {
            unroll<elements / radix>([&](auto q) { v[i + q * radix] = v[i + q * radix] * factor; });
        });
    }
};

/// The shared memory of one segment, where samples move from the places of a stage to those of the
/// next. A thread writes the places it has read before: only reading what others wrote takes a
/// barrier, and the first writing.
template <class Real, class Shape, class Context>
struct SegmentMemory {
    using Transform = SegmentTransform<Real, Shape>;
    using ThreadSamples = typename Transform::ThreadSamples;

    Context context;
    char* memory;

    CONVOLUME_DEVICE void sync() const { context.template sync_some<Shape::threads_each>(); }

    template <int From, int To>
    CONVOLUME_DEVICE void exchange(int thread, ThreadSamples& v) const {
        const int from = Shape::padded(Transform::template place<From>(thread));
        const int to = Shape::padded(Transform::template place<To>(thread));
        const auto each = [&](const auto& f) { unroll<Transform::elements>(f); };
        if constexpr (Shape::whole) {
            auto* const whole = reinterpret_cast<Complex<Real>*>(memory);
            each([&](auto i) { whole[from + at<From>(i)] = v[i]; });
            sync();
            each([&](auto i) { v[i] = whole[to + at<To>(i)]; });
        } else {
            auto* const half = reinterpret_cast<Real*>(memory);
            each([&](auto i) { half[from + at<From>(i)] = v[i].re; });
            sync();
            each([&](auto i) { v[i].re = half[to + at<To>(i)]; });
            sync();
            each([&](auto i) { half[from + at<From>(i)] = v[i].im; });
            sync();
            each([&](auto i) { v[i].im = half[to + at<To>(i)]; });
        }
    }

  private:
    template <int Stage, class I>
    CONVOLUME_DEVICE static constexpr int at(I) {
        constexpr int step = Shape::padded(Transform::template step<Stage>(I::value));
        return step;
    }
};

}  // namespace convolume::gpu
