// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers of threads that callers ask for.

#include <omp.h>

#include <algorithm>

#include "convolume/error.hpp"

namespace convolume {

/// More than any machine has; far more make the OpenMP runtime crash.
inline constexpr int most_threads = 4096;

/// Throws InvalidArgument for a number that is neither 0 (all) nor possible.
inline void check_threads(int threads) {
    if (threads < 0 || threads > most_threads)
        throw InvalidArgument(message(threads, " threads were asked for: give 1 to ", most_threads,
                                      ", or 0 for all"));
}

/// Threads for a number asked for; 0 means all. Throws like check_threads.
inline int thread_count(int threads) {
    check_threads(threads);
    return threads > 0 ? threads : std::min(omp_get_max_threads(), most_threads);
}

}  // namespace convolume
