// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses the plan of a transform, and makes the tables of roots of unity that its threads read.

#include <cmath>
#include <vector>

#include "convolume/cuda/detail/transform_plan.hpp"

namespace convolume::gpu {

/// Limits of the plan of a transform.
struct PlanLimits {
    int single = 16;                ///< the longest transform of one radix stage
    int two_stage_elements = 16;    ///< samples that a thread may hold, in two radix stages
    int three_stage_elements = 16;  ///< samples that a thread may hold, in three radix stages
    int min_threads = 1;
    int max_threads = 1024;
    int ideal_elements = 1;
    /// Cost of each sample more or less than ideal; a whole pass costs 1.
    double element_cost = 0.02;
    int lanes = 1;  ///< threads of one transform that access memory in one cycle; a power of 2
};

CONVOLUME_CONSTEXPR bool is_smooth(int n) {
    for (const int p : {2, 3, 5, 7, 11})
        while (n % p == 0) n /= p;
    return n == 1;
}

/// Returns the cheapest plan for n, or one with stages = 0 if there is none.
CONVOLUME_CONSTEXPR TransformPlan make_plan(int n, const PlanLimits& limits) {
    TransformPlan best_plan;
    if (n <= limits.single) {
        best_plan = {n, 1, {n, 1, 1}, 1, n, limits.lanes};
        return best_plan;
    }
    if (!is_smooth(n)) return best_plan;
    double least_cost = 1e30;
    const auto consider_plan = [&](int stages, int a, int b, int c, int most) {
        for (int elements_per_thread = most; elements_per_thread >= 2; --elements_per_thread) {
            // Least number of threads that hold at most `held` samples each, if butterflies are
            // spread evenly.
            const int threads = (n + elements_per_thread - 1) / elements_per_thread;
            if (threads < limits.min_threads || threads > limits.max_threads) continue;
            TransformPlan plan{n, stages, {a, b, c}, threads, 0, limits.lanes};
            for (int s = 0; s < stages; ++s) {
                const int elements = plan.butterflies_per_thread(s) * plan.radix[s];
                if (elements > plan.elements) plan.elements = elements;
            }
            if (plan.elements > most) continue;
            const double work_per_sample = static_cast<double>(plan.threads) * plan.elements / n;
            const int excess_elements = plan.elements - limits.ideal_elements;
            const double cost =
                work_per_sample +
                limits.element_cost * (excess_elements < 0 ? -excess_elements : excess_elements) +
                (stages == 3 ? 0.8 : 0);
            if (cost < least_cost) {
                least_cost = cost;
                best_plan = plan;
            }
        }
    };
    for (int a = 2; a <= limits.two_stage_elements; ++a) {
        if (n % a == 0 && n / a >= 2 && n / a <= limits.two_stage_elements)
            consider_plan(2, a, n / a, 1, limits.two_stage_elements);
    }
    for (int a = 2; a <= 20; ++a) {
        for (int b = 2; b <= 20; ++b) {
            if (n % (a * b) != 0) continue;
            const int c = n / (a * b);
            if (c < 2 || c > 20) continue;
            consider_plan(3, a, b, c, limits.three_stage_elements);
        }
    }
    return best_plan;
}

/// Returns e^{-2πi k/n}, correctly rounded with few exceptions.
template <class Real>
Complex<Real> root_of_unity(long k, long n) {
    const long double angle = -2 * 3.14159265358979323846264338328L *
                              static_cast<long double>(k % n) / static_cast<long double>(n);
    return {static_cast<Real>(std::cos(angle)), static_cast<Real>(std::sin(angle))};
}

/// Returns the table that TransformPlan::first_twiddle() describes.
template <class Real>
std::vector<Complex<Real>> plan_twiddles(const TransformPlan& plan) {
    std::vector<Complex<Real>> table;
    for (int stage = 0; stage < plan.last(); ++stage)
        for (int i = 1; i < plan.radix[stage]; ++i)
            for (int u = 0; u < plan.width(stage); ++u)
                table.push_back(root_of_unity<Real>(1L * i * u, plan.length(stage)));
    return table;
}

/// Returns the table that splits and merges of n pairs read: e^{-2πi k/2n}, k <= n/2.
template <class Real>
std::vector<Complex<Real>> pair_twiddles(int n) {
    std::vector<Complex<Real>> table;
    for (int k = 0; k <= n / 2; ++k) table.push_back(root_of_unity<Real>(k, 2L * n));
    return table;
}

}  // namespace convolume::gpu
