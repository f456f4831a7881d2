// SPDX-License-Identifier: Apache-2.0
// Measured cost of 7-smooth lengths: time per sample of a batch of 16 forward complex float
// transforms in cache, relative to length 1024. That length took 1.27 ns per sample on one core of
// an AMD EPYC of family 26 (FFTW 3.3.10, FFTW_MEASURE). Powers of four cause most of the
// differences, which are similar enough on other machines to choose a length. bench/fft_lengths
// prints the table anew.

#include "core/fft_size.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "convolume/error.hpp"
#include "convolume/shape.hpp"

namespace convolume {

struct FftCost {
    index_t length;
    float per_sample;
};

// clang-format off
inline constexpr FftCost fft_costs[] = {
    {1, 0.00f}, {2, 0.26f}, {3, 0.25f}, {4, 0.22f}, {5, 0.24f}, {6, 0.22f}, {7, 0.26f},
    {8, 0.22f}, {9, 0.29f}, {10, 0.25f}, {12, 0.26f}, {14, 0.28f}, {15, 0.29f}, {16, 0.25f},
    {18, 1.51f}, {20, 0.28f}, {21, 1.78f}, {24, 1.01f}, {25, 0.47f}, {27, 1.72f}, {28, 1.09f},
    {30, 1.22f}, {32, 0.29f}, {35, 1.45f}, {36, 1.33f}, {40, 0.93f}, {42, 1.30f}, {45, 1.49f},
    {48, 0.84f}, {49, 1.46f}, {50, 1.11f}, {54, 1.33f}, {56, 0.92f}, {60, 0.90f}, {63, 2.02f},
    {64, 0.33f}, {70, 1.14f}, {72, 0.81f}, {75, 1.39f}, {80, 0.72f}, {81, 1.55f}, {84, 1.14f},
    {90, 1.17f}, {96, 0.71f}, {98, 1.23f}, {100, 0.92f}, {105, 1.35f}, {108, 0.89f}, {112, 0.84f},
    {120, 0.78f}, {125, 1.78f}, {126, 1.26f}, {128, 0.52f}, {135, 1.43f}, {140, 0.94f},
    {144, 0.69f}, {147, 1.81f}, {150, 1.08f}, {160, 0.68f}, {162, 1.54f}, {168, 0.95f},
    {175, 1.68f}, {180, 0.83f}, {189, 1.84f}, {192, 0.68f}, {196, 1.28f}, {200, 0.82f},
    {210, 1.15f}, {216, 0.92f}, {224, 0.87f}, {225, 1.70f}, {240, 0.71f}, {243, 1.99f},
    {245, 1.92f}, {250, 1.27f}, {252, 1.03f}, {256, 0.71f}, {270, 1.50f}, {280, 0.96f},
    {288, 0.84f}, {294, 1.53f}, {300, 0.93f}, {315, 1.85f}, {320, 0.77f}, {324, 1.06f},
    {336, 1.06f}, {343, 2.01f}, {350, 1.45f}, {360, 0.98f}, {375, 1.91f}, {378, 1.61f},
    {384, 0.78f}, {392, 1.20f}, {400, 0.90f}, {405, 1.95f}, {420, 1.09f}, {432, 1.02f},
    {441, 2.08f}, {448, 0.98f}, {450, 1.48f}, {480, 0.97f}, {486, 1.80f}, {490, 1.53f},
    {500, 1.11f}, {504, 1.07f}, {512, 0.85f}, {525, 1.94f}, {540, 1.07f}, {560, 1.09f},
    {567, 2.15f}, {576, 1.02f}, {588, 1.17f}, {600, 1.07f}, {625, 2.18f}, {630, 1.54f},
    {640, 0.88f}, {648, 1.09f}, {672, 1.04f}, {675, 1.96f}, {686, 1.71f}, {700, 1.16f},
    {720, 1.02f}, {729, 2.20f}, {735, 1.98f}, {750, 1.48f}, {756, 1.18f}, {768, 0.89f},
    {784, 1.24f}, {800, 1.02f}, {810, 1.71f}, {840, 1.11f}, {864, 1.08f}, {875, 2.29f},
    {882, 1.82f}, {896, 1.08f}, {900, 1.09f}, {945, 2.03f}, {960, 1.00f}, {972, 1.23f},
    {980, 1.24f}, {1000, 1.11f}, {1008, 1.12f}, {1024, 1.00f},
};
// clang-format on

namespace {

constexpr index_t max_length = index_t{1} << 58;  // 2 * 2 * 7 times this still fits 64 bits
constexpr index_t table_end = std::end(fft_costs)[-1].length;

// Cost of a sample apart from the transform along one axis (other axes, memory), in the unit of the
// table.
constexpr double other_cost_per_sample = 2.0;

double table_cost(index_t n) {
    return std::lower_bound(
               std::begin(fft_costs), std::end(fft_costs), n,
               [](const FftCost& entry, index_t length) { return entry.length < length; })
        ->per_sample;
}

// Returns the largest length in the table that divides the 7-smooth n.
index_t largest_table_divisor(index_t n) {
    return std::find_if(std::rbegin(fft_costs), std::rend(fft_costs),
                        [n](const FftCost& entry) { return n % entry.length == 0; })
        ->length;
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
    // With equal radices the cost per sample grows with log n.
    const index_t table_length = largest_table_divisor(n);
    return table_cost(table_length) * std::log(static_cast<double>(n)) /
           std::log(static_cast<double>(table_length));
}

index_t good_fft_size(index_t n, index_t step) {
    if (n < 1 || n > max_length || step < 1 || step > max_length || !is_7_smooth(step))
        throw InvalidArgument(message("no transform length of at least ", n, " in steps of ", step,
                                      ": lengths are 1 … 2^58, steps 7-smooth"));
    // Candidate lengths are step * 2^a 3^b 5^c 7^d. A length above twice the least one never pays.
    const index_t limit = 2 * round_up(n, step);
    index_t best = 0;
    double best_cost = std::numeric_limits<double>::infinity();
    for (index_t p7 = step; p7 <= limit; p7 *= 7)
        for (index_t p5 = p7; p5 <= limit; p5 *= 5)
            for (index_t p3 = p5; p3 <= limit; p3 *= 3)
                for (index_t length = p3; length <= limit; length *= 2) {
                    if (length >= n) {
                        const auto samples = static_cast<double>(length);
                        // This lower bound, without the transform itself, avoids most look-ups.
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
