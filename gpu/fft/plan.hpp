// SPDX-License-Identifier: Apache-2.0
#pragma once
// How threads share one transform: its factors, and the threads that hold it in registers.

#include "convolume/cuda/detail/complex.hpp"

namespace convolume::gpu {

/// A transform of length n = radix[0] · … in one to three stages by `threads` threads, each of
/// which holds up to `elements` samples. In stage s thread t computes the butterflies t, t +
/// threads, … of n / radix[s]. If it is `paired`, thread t computes in stage 0 the butterflies t
/// and n / radix[0] - t, thread 0 the first and the middle one: together these hold with every
/// sample k sample n - k, too.
struct Plan {
    int n = 0;
    int stages = 0;
    int radix[3] = {1, 1, 1};
    int threads = 0;
    int elements = 0;
    int lanes = 1;
    bool paired = false;

    CONVOLUME_CONSTEXPR int butterflies(int stage) const { return n / radix[stage]; }
    CONVOLUME_CONSTEXPR int butterflies_per_thread(int stage) const {
        if (paired && stage == 0) return 2;
        return (butterflies(stage) + threads - 1) / threads;
    }
    CONVOLUME_CONSTEXPR int last() const { return stages - 1; }

    /// Pitches of the exchange memory between stages 0 and 1 (1 and 2), such that `lanes` threads
    /// side by side meet in different banks on both sides; see Stages::place.
    CONVOLUME_CONSTEXPR int pitch(int exchange) const {
        const int width = radix[2];
        int size = exchange == 0 ? n / radix[0] : radix[0] * radix[1];
        int step = 1;  // of the lanes, that is; the pitch is that modulo them
        if (exchange == 0 && stages == 3) {
            if (width >= lanes) return size;
            step = width;
        } else if (exchange == 1) {
            step = (lanes + width - 1) / width;
        }
        while (size % lanes != step % lanes) ++size;
        return size;
    }
    /// Samples of exchange memory.
    CONVOLUME_CONSTEXPR int exchange_size() const {
        if (stages == 1) return 0;
        const int first = radix[0] * pitch(0);
        const int second = stages == 3 ? radix[2] * pitch(1) : 0;
        return first > second ? first : second;
    }
    /// The twiddle factors of stages 0 and 1 follow each other in a table; none of frequency 0.
    CONVOLUME_CONSTEXPR int second_twiddles() const { return n - n / radix[0]; }
    CONVOLUME_CONSTEXPR int twiddle_count() const {
        return (stages > 1 ? second_twiddles() : 0) + (stages > 2 ? n / radix[0] - radix[2] : 0);
    }
};

/// What a plan may use.
struct PlanLimits {
    int single = 16;          ///< the longest transform of one stage
    int two_elements = 16;    ///< samples a thread may hold, in two stages
    int three_elements = 16;  ///< and in three
    int min_threads = 1;
    int max_threads = 1024;
    int ideal_elements = 1;
    double element_cost = 0.02;  ///< of each more or less than that, against 1 of a whole pass
    int lanes = 1;  ///< threads of one transform that access memory in one cycle; a power of 2
};

CONVOLUME_CONSTEXPR bool is_smooth(int n) {
    for (const int p : {2, 3, 5, 7, 11})
        while (n % p == 0) n /= p;
    return n == 1;
}

/// The cheapest plan for n; stages = 0 when there is none.
CONVOLUME_CONSTEXPR Plan make_plan(int n, const PlanLimits& limits) {
    Plan best;
    if (n <= limits.single) {
        best = {n, 1, {n, 1, 1}, 1, n, limits.lanes};
        return best;
    }
    if (!is_smooth(n)) return best;
    double best_cost = 1e30;
    const auto consider = [&](int stages, int a, int b, int c, int most) {
        for (int held = most; held >= 2; --held) {
            // The threads that can hold `held` samples each, if butterflies are spread evenly.
            const int threads = (n + held - 1) / held;
            if (threads < limits.min_threads || threads > limits.max_threads) continue;
            Plan plan{n, stages, {a, b, c}, threads, 0, limits.lanes};
            for (int s = 0; s < stages; ++s) {
                const int elements = plan.butterflies_per_thread(s) * plan.radix[s];
                if (elements > plan.elements) plan.elements = elements;
            }
            if (plan.elements > most) continue;
            const double waste = static_cast<double>(plan.threads) * plan.elements / n;
            const int off = plan.elements - limits.ideal_elements;
            const double cost =
                waste + limits.element_cost * (off < 0 ? -off : off) + (stages == 3 ? 0.8 : 0);
            if (cost < best_cost) {
                best_cost = cost;
                best = plan;
            }
        }
    };
    for (int a = 2; a <= limits.two_elements; ++a) {
        if (n % a == 0 && n / a >= 2 && n / a <= limits.two_elements)
            consider(2, a, n / a, 1, limits.two_elements);
    }
    for (int a = 2; a <= 20; ++a) {
        for (int b = 2; b <= 20; ++b) {
            if (n % (a * b) != 0) continue;
            const int c = n / (a * b);
            if (c < 2 || c > 20) continue;
            consider(3, a, b, c, limits.three_elements);
        }
    }
    return best;
}

}  // namespace convolume::gpu
