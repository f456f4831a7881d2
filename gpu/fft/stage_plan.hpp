// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the threads of a block share rows with a stage.

#include "gpu/fft/row_kernel.hpp"

namespace convolume::gpu {

/// The cheapest paired plan for rows of n complex samples, of two or three stages; stages = 0 when
/// there is none: n is then no multiple of 4. Fewer samples a thread let more threads be resident;
/// threads that have nothing to do in a stage are in the way.
CONVOLUME_CONSTEXPR Plan make_stage_plan(int n) {
    constexpr int most_threads = 224, most_elements = 20, ideal_elements = 12;
    Plan best;
    double best_cost = 1e30;
    const auto consider = [&](int stages, int a, int b, int c) {
        const int pairs = n / a / 2;
        for (int threads = pairs; threads <= most_threads && threads <= n; ++threads) {
            Plan plan{n, stages, {a, b, c}, threads, 0, 16, true};
            double work = 0;
            for (int s = 0; s < stages; ++s) {
                const int elements = plan.butterflies_per_thread(s) * plan.radix[s];
                if (elements > plan.elements) plan.elements = elements;
                work += static_cast<double>(elements) * threads / n;
            }
            if (plan.elements > most_elements) continue;
            const int off = plan.elements - ideal_elements;
            const int samples = plan.butterflies_per_thread(plan.last()) * plan.radix[plan.last()];
            const double cost = work + 0.5 * stages + 0.05 * (off < 0 ? -off : off) +
                                (plan.butterflies_per_thread(1) > 1 ? 0.4 : 0) + 0.02 * samples +
                                (samples > 10 ? 0.08 * (samples - 10) : 0);
            if (cost < best_cost) {
                best_cost = cost;
                best = plan;
            }
        }
    };
    if (!is_smooth(n)) return best;
    for (int a = 2; a <= 16; a += 2) {
        if (n % (2 * a) != 0) continue;
        for (int b = 2; b <= 16; ++b) {
            if (n % (a * b) != 0) continue;
            const int c = n / (a * b);
            if (c == 1) consider(2, a, b, 1);
            if (c >= 2 && c <= 16) consider(3, a, b, c);
        }
    }
    return best;
}

/// Plans that took less time, measured on an H200 (528: on an H100): what is cheapest above is so
/// by a rule of thumb.
inline constexpr Plan measured_stage_plans[] = {
    {144, 3, {4, 6, 6}, 24, 8, 16, true},   {160, 3, {4, 10, 4}, 20, 10, 16, true},
    {512, 3, {8, 8, 8}, 64, 16, 16, true},  {528, 3, {6, 8, 11}, 48, 16, 16, true},
    {560, 3, {8, 5, 14}, 40, 16, 16, true}, {576, 3, {6, 8, 12}, 48, 16, 16, true},
};

template <int N>
struct StagePlan {
    static constexpr Plan value = [] {
        for (const Plan& plan : measured_stage_plans)
            if (plan.n == N) return plan;
        return make_stage_plan(N);
    }();
    static_assert(value.stages > 1);
};

/// Rows of a block with a stage: those that fill their warps best in few threads, since all wait
/// for one another often. Measured on an H200, over lengths from 150 to 2048.
CONVOLUME_CONSTEXPR int stage_rows_of_block(int threads_of_row) {
    int best = 1;
    double best_score = -1;
    for (int count = 1; count * threads_of_row <= 224; ++count) {
        const int block = count * threads_of_row;
        const double score = filled(block) - 0.002 * block;
        if (block >= 86 && score > best_score) {
            best = count;
            best_score = score;
        }
    }
    return best;
}

}  // namespace convolume::gpu
