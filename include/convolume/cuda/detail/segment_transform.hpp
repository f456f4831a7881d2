// SPDX-License-Identifier: Apache-2.0
#pragma once
// The transform of a segment in the registers of a thread block: decimation in frequency, in place.
// Thread t gives samples t, t + threads, … to forward(), which leaves frequencies in an order of
// its own. back() takes that order and leaves samples where forward() took them. Its flow graph is
// the transposed one, which gives the same transform since the DFT matrix is symmetric. Samples are
// never reordered.

#include <type_traits>

#include "convolume/cuda/detail/codelets.hpp"
#include "convolume/cuda/detail/transform_plan.hpp"
#include "convolume/shape.hpp"

namespace convolume::gpu {

/// Returns the plan for segments of n samples. Radix stage s combines, in place, radix[s] samples
/// of each transform of length(s), which are width(s) apart. Thread t of a segment computes the
/// butterflies t, t + threads, … of every radix stage.
///
/// Two rules keep a thread's twiddle factors and addresses few. The first radix is the number of
/// samples that a thread holds. The number of threads is a multiple of every other width. All
/// butterflies of a thread in a radix stage then have the same position in their transforms.
CONVOLUME_CONSTEXPR TransformPlan segment_plan(int n) {
    if (n == 256) return {n, 2, {16, 16, 1}, 16, 16};
    const int elements = n <= 4096 ? 16 : 32;
    return {n, 3, {elements, n / elements / 16, 16}, n / elements, elements};
}

/// Returns whether a plan keeps the two rules of segment_plan().
CONVOLUME_CONSTEXPR bool keeps_segment_rules(const TransformPlan& plan) {
    for (int s = 1; s < plan.stages; ++s)
        if (plan.threads % plan.width(s) != 0 || plan.elements % plan.radix[s] != 0) return false;
    return plan.width(plan.last()) == 1;
}

/// The thread blocks and the memory of CUDA kernels over segments of N samples. The choices between
/// registers and shared memory were measured on an H200.
template <class Real, int N, bool complex_data>
struct SegmentShape {
    static constexpr TransformPlan plan = segment_plan(N);
    static_assert(keeps_segment_rules(plan));
    static constexpr int threads_each = plan.threads;  ///< threads of each segment
    /// Number of segments in a thread block, which has at least two warps.
    static constexpr int segments = threads_each < 64 ? 64 / threads_each : 1;
    static constexpr int threads = threads_each * segments;  ///< threads of a thread block
    static constexpr bool is_long = N > 4096;
    /// Whether registers hold a segment's spectrum beside its samples; else shared memory holds it.
    static constexpr bool spectrum_in_registers = !is_long;
    /// Whether complex samples are exchanged whole. Else real parts are exchanged first and
    /// imaginary parts second, in half the memory.
    static constexpr bool exchanges_whole = !is_long;
    /// Number of exchange memories. Filters use them in turn, so that a filter need not wait until
    /// all threads have finished the last one.
    static constexpr int exchanges = is_long ? 1 : 2;
    /// Whether twiddle factors are loaded for each use; else they are computed from a few in
    /// registers.
    static constexpr bool twiddles_loaded = !is_long && !complex_data;

    CONVOLUME_CONSTEXPR static int padded(int place) { return place + place / 16; }
    static constexpr index_t exchange_bytes =
        (static_cast<index_t>(sizeof(Real)) * (exchanges_whole ? 2 : 1) * padded(N) + 15) / 16 * 16;
    static constexpr index_t spectrum_bytes =
        spectrum_in_registers ? 0 : index_t{2} * sizeof(Real) * N;
    static constexpr index_t segment_bytes = exchanges * exchange_bytes + spectrum_bytes;
    static constexpr index_t shared_bytes = segments * segment_bytes;
    static constexpr bool fits = shared_bytes <= 232448;
    /// Number of thread blocks that a multiprocessor of compute capability 9 holds. Its registers
    /// are in four banks, each for a quarter of the warps.
    static constexpr int blocks_per_unit = [] {
        const int registers = sizeof(Real) == 4 ? 128 : 255;  // registers of each thread
        const int warps = 4 * (16384 / 32 / registers);
        const auto by_memory = static_cast<int>(232448 / (shared_bytes + 1024));
        const int by_registers = warps * 32 / threads;
        const int blocks = by_memory < by_registers ? by_memory : by_registers;
        return blocks < 1 ? 1 : blocks;
    }();
};

/// The twiddle factors of one thread, loaded from device memory at each use.
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
    /// Hides the factors' addresses from the compiler, which would otherwise keep all factors in
    /// registers for all filters.
    template <class Context>
    CONVOLUME_DEVICE void forget(const Context& context) {
        unroll<plan.last()>([&](auto s) { context.forget(rows_[s]); });
    }
    /// Calls f(Constant<i>, factor) for the rows i of a radix stage.
    template <int Stage, class Context, class F>
    CONVOLUME_DEVICE void for_each_row(const Context& context, const F& f) const {
        constexpr int rows = plan.radix[Stage] - 1, width = plan.width(Stage);
        unroll<rows>([&](auto row) {
            constexpr int i = decltype(row)::value;
            f(Constant<i + 1>{}, context.load(rows_[Stage] + i * width));
        });
    }

  private:
    const Complex<Real>* rows_[3];
};

/// The twiddle factors of one thread, computed from those of rows 1, 2, 4, …, which are in
/// registers: other factors are products of these. Each has an error of a few roundings.
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
            all.template for_each_row<stage>(context, [&](auto i, Complex<Real> factor) {
                if constexpr (decltype(i)::value == row) powers_[stage][power] = factor;
            });
        });
    }
    template <class Context>
    CONVOLUME_DEVICE void forget(const Context& context) {
        each_power([&](auto stage, auto power) { context.forget(powers_[stage][power]); });
    }
    template <int Stage, class Context, class F>
    CONVOLUME_DEVICE void for_each_row(const Context&, const F& f) const {
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

/// The transform of a segment, of which each thread holds `elements` samples.
template <class Real, class Shape>
class SegmentTransform {
  public:
    static constexpr TransformPlan plan = Shape::plan;
    static constexpr int elements = plan.elements, threads = plan.threads;
    using ThreadSamples = Samples<Real, elements>;
    using Twiddles = std::conditional_t<Shape::twiddles_loaded, LoadedTwiddles<Real, Shape>,
                                        RegisterTwiddles<Real, Shape>>;

    /// Transforms the samples `v` of all threads of a segment.
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

    /// Transforms as forward() does, from the order of its results back to that of its samples. If
    /// there is only one exchange memory, a further barrier separates it from its last use.
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

    /// Returns the index in exchange memory, without padding, of butterfly 0 of `thread` in a radix
    /// stage.
    template <int Stage>
    CONVOLUME_DEVICE static int place(int thread) {
        constexpr int width = plan.width(Stage), length = plan.length(Stage);
        return thread / width * length + thread % width;
    }
    /// Returns the distance from place() to the index of sample i of butterfly q. The thread holds
    /// that sample as number held = i + q·radix.
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
        twiddles.template for_each_row<Stage>(context, [&](auto i, Complex<Real> factor) {
            unroll<elements / radix>([&](auto q) { v[i + q * radix] = v[i + q * radix] * factor; });
        });
    }
};

/// The shared memory of one segment, through which samples move from the threads of a radix stage
/// to those of the next one. A thread writes the addresses that it has read before. Barriers are
/// only needed before the first write, and between writes and the reads of other threads.
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
        if constexpr (Shape::exchanges_whole) {
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
