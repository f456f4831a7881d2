// SPDX-License-Identifier: Apache-2.0
#pragma once
// One transform held in the registers of several threads, which exchange samples through shared
// memory between its radix stages.
//
// Before forward(), the i-th sample of a thread's butterfly u is at position u + i·n/radix[0].
// After it, the i-th sample is frequency u + i·n/radix[last]. back() is the same transform, since
// the DFT matrix is symmetric, with its flow transposed: it starts in the order in which forward()
// ends, and ends in the order in which forward() starts.

#include "convolume/cuda/detail/codelets.hpp"
#include "gpu/fft/plan.hpp"

namespace convolume::gpu {

/// The radix stages of the plan P::plan. An `Exchanger` moves samples between threads: its
/// exchange(write, read) calls write(put), then read(get), for samples at places. Twiddle factors
/// (device_table.hpp) are best in shared memory.
template <class Real, class P>
struct RadixStages {
    static constexpr TransformPlan plan = P::plan;
    using ThreadSamples = Samples<Real, plan.elements>;

    /// Calls f(sample, position) for the samples of `thread` before (radix stage 0) or after
    /// (plan.last()) the transform.
    template <int Stage, class F>
    CONVOLUME_DEVICE static void for_each(int thread, const F& f) {
        constexpr int radix = plan.radix[Stage], stride = plan.n / radix;
        for_each_butterfly<Stage>(thread, [&](int first, int u) {
            CONVOLUME_UNROLL
            for (int i = 0; i < radix; ++i) f(first + i, u + stride * i);
        });
    }

    /// The last radix stage but one, and whether a thread has one butterfly there, and so needs the
    /// same twiddle factors for every transform.
    static constexpr int kept_stage = plan.stages > 1 ? plan.stages - 2 : 0;
    static constexpr bool keeps_factors = plan.stages > 1 &&
                                          plan.butterflies_per_thread(kept_stage) == 1;
    /// Twiddle factors in memory, of which a thread keeps those of that radix stage in registers.
    struct KeptTwiddles {
        const Complex<Real>* table;
        Samples<Real, keeps_factors ? plan.radix[kept_stage] : 1> factors;

        CONVOLUME_DEVICE KeptTwiddles(int thread, const Complex<Real>* twiddles) : table(twiddles) {
            static_assert(keeps_factors);
            constexpr int radix = plan.radix[kept_stage];
            CONVOLUME_UNROLL
            for (int i = 1; i < radix; ++i)
                factors[i] = twiddle_factor<kept_stage>(table, thread, i);
        }
    };

    /// `twiddles`: the table, or a KeptTwiddles.
    template <class Exchanger, class Twiddles>
    CONVOLUME_DEVICE static void forward(const Exchanger& exchanger, int thread, ThreadSamples& v,
                                         const Twiddles& twiddles) {
        transform_stage<0>(thread, v);
        if constexpr (plan.stages > 1) {
            multiply_twiddles<0>(thread, v, twiddles);
            exchange<0, true>(exchanger, thread, v);
            transform_stage<1>(thread, v);
        }
        if constexpr (plan.stages > 2) {
            multiply_twiddles<1>(thread, v, twiddles);
            exchange<1, true>(exchanger, thread, v);
            transform_stage<2>(thread, v);
        }
    }

    template <class Exchanger, class Twiddles>
    CONVOLUME_DEVICE static void back(const Exchanger& exchanger, int thread, ThreadSamples& v,
                                      const Twiddles& twiddles) {
        if constexpr (plan.stages > 2) {
            transform_stage<2>(thread, v);
            exchange<1, false>(exchanger, thread, v);
            multiply_twiddles<1>(thread, v, twiddles);
        }
        if constexpr (plan.stages > 1) {
            transform_stage<1>(thread, v);
            exchange<0, false>(exchanger, thread, v);
            multiply_twiddles<0>(thread, v, twiddles);
        }
        transform_stage<0>(thread, v);
    }

  private:
    /// For each butterfly u of `thread` in a radix stage, calls f(i, u), where the thread's sample
    /// i is the first one of the butterfly.
    template <int Stage, class F>
    CONVOLUME_DEVICE static void for_each_butterfly(int thread, const F& f) {
        constexpr int butterflies = plan.butterflies(Stage), threads = plan.threads;
        constexpr int butterflies_each = plan.butterflies_per_thread(Stage),
                      radix = plan.radix[Stage];
        if constexpr (plan.paired && Stage == 0) {
            if (butterflies / 2 < threads && thread >= butterflies / 2) return;
            f(0, thread);
            f(radix, thread == 0 ? butterflies / 2 : butterflies - thread);
        } else {
            CONVOLUME_UNROLL
            for (int j = 0; j < butterflies_each; ++j) {
                const int u = thread + j * threads;
                if ((j + 1) * threads <= butterflies || u < butterflies) f(j * radix, u);
            }
        }
    }

    template <int Stage>
    CONVOLUME_DEVICE static void transform_stage(int thread, ThreadSamples& v) {
        constexpr int radix = plan.radix[Stage];
        for_each_butterfly<Stage>(thread, [&](int first, int) { dft<radix>(&v[first]); });
    }

    /// Multiplies sample i of butterfly u of radix stage 0, which is frequency i at position u, by
    /// e^{-2πi u i/n}. In radix stage 1, of transforms of n/radix[0], u is the position within such
    /// a transform.
    template <int Stage, class Twiddles>
    CONVOLUME_DEVICE static void multiply_twiddles(int thread, ThreadSamples& v,
                                                   const Twiddles& twiddles) {
        constexpr int radix = plan.radix[Stage];
        for_each_butterfly<Stage>(thread, [&](int first, int u) {
            CONVOLUME_UNROLL
            for (int i = 1; i < radix; ++i)
                v[first + i] = v[first + i] * twiddle_factor<Stage>(twiddles, u, i);
        });
    }
    template <int Stage>
    CONVOLUME_DEVICE static Complex<Real> twiddle_factor(const Complex<Real>* table, int u, int i) {
        constexpr int width = Stage == 0 ? plan.n / plan.radix[0] : plan.radix[2];
        if constexpr (Stage == 0) return table[u + (i - 1) * width];
        return table[plan.second_twiddles() + u % width + (i - 1) * width];
    }
    template <int Stage>
    CONVOLUME_DEVICE static Complex<Real> twiddle_factor(const KeptTwiddles& kept, int u, int i) {
        if constexpr (Stage != kept_stage) return twiddle_factor<Stage>(kept.table, u, i);
        return kept.factors[i];
    }

    /// Returns the place of sample i of butterfly u of `Stage` in the exchange before or after that
    /// radix stage.
    template <int Exchange, int Stage>
    CONVOLUME_DEVICE static constexpr int exchange_place(int u, int i) {
        constexpr int pitch = plan.pitch(Exchange), width = plan.radix[2], first = plan.radix[0];
        if constexpr (Exchange == 0 && Stage == 0) {
            return i * pitch + u;
        } else if constexpr (Exchange == 0 && plan.stages == 2) {
            return u * pitch + i;
        } else if constexpr (Exchange == 0) {
            // Radix stage 1, the second of three: sample i of butterfly u has frequency
            // k1 = u / width and position b + i·width, with b = u % width.
            return (u / width) * pitch + u % width + i * width;
        } else if constexpr (Stage == 1) {
            // The sample of butterfly u has frequency (k1, i) and position b.
            return (u % width) * pitch + u / width + first * i;
        } else {
            return i * pitch + u;
        }
    }

    /// Moves samples from radix stage `Exchange` to the next one, or back.
    template <int Exchange, bool Forward, class Exchanger>
    CONVOLUME_DEVICE static void exchange(const Exchanger& exchanger, int thread,
                                          ThreadSamples& v) {
        constexpr int from = Forward ? Exchange : Exchange + 1;
        constexpr int to = Forward ? Exchange + 1 : Exchange;
        constexpr int radix_from = plan.radix[from], radix_to = plan.radix[to];
        exchanger.exchange(
            [&](const auto& put) {
                for_each_butterfly<from>(thread, [&](int first, int u) {
                    CONVOLUME_UNROLL
                    for (int i = 0; i < radix_from; ++i) {
                        put(exchange_place<Exchange, from>(u, i), v[first + i]);
                    }
                });
            },
            [&](const auto& get) {
                for_each_butterfly<to>(thread, [&](int first, int u) {
                    CONVOLUME_UNROLL
                    for (int i = 0; i < radix_to; ++i) {
                        get(exchange_place<Exchange, to>(u, i), v[first + i]);
                    }
                });
            });
    }
};

/// Exchanges real parts, then imaginary parts, through memory for one of them.
template <class Real, class Context>
struct SplitExchange {
    Context context;
    Real* memory;
    int stride;

    template <class Write, class Read>
    CONVOLUME_DEVICE void exchange(const Write& write, const Read& read) const {
        context.sync();
        write([&](int place, const Complex<Real>& v) { memory[place * stride] = v.re; });
        context.sync();
        // Samples of both orders share registers: real parts move while imaginary ones stay.
        read([&](int place, Complex<Real>& v) { v.re = memory[place * stride]; });
        context.sync();
        write([&](int place, const Complex<Real>& v) { memory[place * stride] = v.im; });
        context.sync();
        read([&](int place, Complex<Real>& v) { v.im = memory[place * stride]; });
    }
};

/// Exchanges whole samples.
template <class Real, class Context>
struct WholeExchange {
    Context context;
    Complex<Real>* memory;
    int stride = 1;

    template <class Write, class Read>
    CONVOLUME_DEVICE void exchange(const Write& write, const Read& read) const {
        context.sync();
        write([&](int place, const Complex<Real>& v) { memory[place * stride] = v; });
        context.sync();
        read([&](int place, Complex<Real>& v) { v = memory[place * stride]; });
    }
};

/// Copies `count` samples to shared memory with all threads of a thread block, for use after a
/// barrier.
template <class Real, class Context>
CONVOLUME_DEVICE void copy_table(const Context& context, Complex<Real>* to,
                                 const Complex<Real>* from, int count, int threads) {
    for (int i = context.thread(); i < count; i += threads) to[i] = context.load(from + i);
}

}  // namespace convolume::gpu
