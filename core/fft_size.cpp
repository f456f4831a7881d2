// SPDX-License-Identifier: Apache-2.0
#include "core/fft_size.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "convolume/error.hpp"
#include "convolume/shape.hpp"
#include "core/fft_length_costs.hpp"

namespace convolume {

namespace {

constexpr index_t max_length = index_t{1} << 58;  // 3 * 7 times this still fits 64 bits

// Returns the entry of a length in the table, or of the largest one there that divides it.
const GridLength& entry_of(index_t n) {
    if (n > std::end(grid_lengths)[-1].length)
        return *std::find_if(std::rbegin(grid_lengths), std::rend(grid_lengths),
                             [n](const GridLength& entry) { return n % entry.length == 0; });
    return *std::lower_bound(
        std::begin(grid_lengths), std::end(grid_lengths), n,
        [](const GridLength& entry, index_t length) { return entry.length < length; });
}

// Returns the relative cost of a grid of 7-smooth length n, an entry of GridLength::costs.
double grid_cost(index_t n, int use) {
    const GridLength& entry = entry_of(n);
    const double cost = static_cast<double>(n) * entry.costs[use];
    // With equal radices the cost per sample grows with log n.
    return n == entry.length ? cost
                             : cost * std::log(static_cast<double>(n)) /
                                   std::log(static_cast<double>(entry.length));
}

}  // namespace

bool is_7_smooth(index_t n) {
    if (n < 1) return false;
    for (const index_t prime : {2, 3, 5, 7})
        while (n % prime == 0) n /= prime;
    return n == 1;
}

index_t good_fft_size(index_t n, index_t step, int axis, bool complex_data) {
    if (n < 1 || n > max_length || step < 1 || step > max_length || !is_7_smooth(step))
        throw InvalidArgument(message("no transform length of at least ", n, " in steps of ", step,
                                      ": lengths are 1 … 2^58, steps 7-smooth"));
    // Candidate lengths are step * 2^a 3^b 5^c 7^d. One of them is at most a fifth above the least
    // length. Longer ones save no time that is worth their memory.
    const index_t limit = round_up(n, step) + round_up(n, step) / 2;
    const int use = axis == 2 && complex_data ? 3 : axis;
    index_t best = 0;
    double best_cost = std::numeric_limits<double>::infinity();
    for (index_t p7 = step; p7 <= limit; p7 *= 7)
        for (index_t p5 = p7; p5 <= limit; p5 *= 5)
            for (index_t p3 = p5; p3 <= limit; p3 *= 3)
                for (index_t length = p3; length <= limit; length *= 2) {
                    if (length >= n) {
                        const double cost = grid_cost(length, use);
                        if (cost < best_cost || (cost == best_cost && length < best)) {
                            best = length;
                            best_cost = cost;
                        }
                    }
                    if (length > limit / 2) break;
                }
    return best;
}

}  // namespace convolume
