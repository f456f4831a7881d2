// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers of threads, and loops that threads share. The whole library computes in parallel by
// parallel_ranges() and parallel_for() only.

#include "convolume/shape.hpp"

namespace convolume {

/// More threads than any machine has.
inline constexpr int most_threads = 4096;

/// Throws InvalidArgument for numbers that are neither 0 (all) nor possible.
void check_threads(int threads);

/// Returns the number of threads for a requested number. For 0, returns the first number in the
/// environment variable OMP_NUM_THREADS, or else the number of processors that this process may
/// use. Throws like check_threads.
int thread_count(int threads);

namespace detail {

using RangeFunction = void (*)(const void* work, index_t begin, index_t end, int thread);
void run_shared(index_t count, int threads, RangeFunction function, const void* work);

}  // namespace detail

/// Calls work(begin, end, thread) for ranges that together are [0, count), from the calling thread
/// and up to `threads` - 1 others. Returns when all ranges are done.
///
/// `thread` is a number in [0, threads). Calls with the same number never overlap, so that it can
/// index scratch memory. The calling thread has number 0. Free threads take ranges in ascending
/// order, large ones first. The assignment of ranges to threads varies, and results must not depend
/// on it. Ranges must not wait for each other.
///
/// Calls may be nested, and several threads may call at the same time: they share the threads of
/// the team. If `work` throws, ranges that have not begun are skipped, and the first exception is
/// thrown to the caller. Throws Cancelled if a stop is requested in the caller's StopScope.
template <class Work>
void parallel_ranges(index_t count, int threads, const Work& work) {
    detail::run_shared(
        count, threads,
        [](const void* shared, index_t begin, index_t end, int thread) {
            (*static_cast<const Work*>(shared))(begin, end, thread);
        },
        &work);
}

/// Calls item(i, thread) for every i in [0, count), under the conditions of parallel_ranges().
template <class Item>
void parallel_for(index_t count, int threads, const Item& item) {
    parallel_ranges(count, threads, [&item](index_t begin, index_t end, int thread) {
        for (index_t i = begin; i < end; ++i) item(i, thread);
    });
}

}  // namespace convolume
