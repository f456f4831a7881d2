// SPDX-License-Identifier: Apache-2.0
#include "core/fft_size.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "convolume/error.hpp"
#include "core/fft_cost_table.hpp"

namespace convolume {

namespace {

constexpr index_t max_length = index_t{1} << 58;  // times 2 * 2 * 7 still fits 64 bits
constexpr index_t table_end = std::end(fft_costs)[-1].length;

// What each sample costs besides one axis' transform (the other axes, memory), in the table's unit.
constexpr double other_cost_per_sample = 2.0;

double table_cost(index_t n) {
    return std::lower_bound(
               std::begin(fft_costs), std::end(fft_costs), n,
               [](const FftCost& entry, index_t length) { return entry.length < length; })
        ->per_sample;
}

// The largest divisor of the 7-smooth n that the table holds.
index_t largest_table_divisor(index_t n) {
    for (index_t divisor = std::min(n, table_end); divisor > 1; --divisor)
        if (n % divisor == 0) return divisor;
    return 1;
}

}  // namespace

bool is_7_smooth(index_t n) {
    if (n < 1) return false;
    for (const index_t prime : {2, 3, 5, 7})
        while (n % prime == 0) n /= prime;
    return n == 1;
}

double fft_cost_per_sample(index_t n) {
    if (!is_7_smooth(n))
        throw InvalidArgument(
            message("a transform of length ", n,
                    " has a prime factor above 7: take a length from good_fft_size"));
    if (n <= table_end) return table_cost(n);
    // Work grows with log n at equal radices.
    const index_t known = largest_table_divisor(n);
    return table_cost(known) * std::log(static_cast<double>(n)) /
           std::log(static_cast<double>(known));
}

index_t good_fft_size(index_t n, index_t step) {
    if (n < 1 || n > max_length || step < 1 || step > max_length || !is_7_smooth(step))
        throw InvalidArgument(message("no transform length of at least ", n, " in steps of ", step,
                                      ": lengths are 1 … 2^58, steps 7-smooth"));
    // Lengths are step * 2^a 3^b 5^c 7^d; beyond twice the need none can pay.
    const index_t limit = 2 * round_up(n, step);
    index_t best = 0;
    double best_cost = std::numeric_limits<double>::infinity();
    for (index_t p7 = step; p7 <= limit; p7 *= 7)
        for (index_t p5 = p7; p5 <= limit; p5 *= 5)
            for (index_t p3 = p5; p3 <= limit; p3 *= 3)
                for (index_t length = p3; length <= limit; length *= 2) {
                    if (length >= n) {
                        const auto samples = static_cast<double>(length);
                        // A bound without the transform's own cost spares most look-ups.
                        if (samples * other_cost_per_sample < best_cost) {
                            const double cost =
                                samples * (fft_cost_per_sample(length) + other_cost_per_sample);
                            if (cost < best_cost || (cost == best_cost && length < best)) {
                                best = length;
                                best_cost = cost;
                            }
                        }
                    }
                    if (length > limit / 2) break;
                }
    return best;
}

}  // namespace convolume
