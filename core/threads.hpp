// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers of threads, and loops that threads share. The whole library computes in parallel by
// parallel_ranges() and parallel_for() only, and so does the command.

#include <atomic>
#include <functional>
#include <initializer_list>

#include "convolume/execution.hpp"
#include "convolume/export.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// More threads than any machine has.
inline constexpr int most_threads = 4096;

/// Throws InvalidArgument for numbers that are neither 0 (all) nor possible.
void check_threads(int threads);

/// Returns the number of threads for a requested number. For 0, returns the first number in the
/// environment variable OMP_NUM_THREADS, or else the number of processors that this process may
/// use. Throws like check_threads.
CONVOLUME_API int thread_count(int threads);

/// Returns the name of what runs the threads: "pool" or "openmp".
CONVOLUME_API const char* thread_backend();

namespace detail {

using RangeFunction = void (*)(const void* work, index_t begin, index_t end, int thread);
CONVOLUME_API void run_shared(index_t count, int threads, RangeFunction function, const void* work);

}  // namespace detail

/// Calls work(begin, end, thread) for ranges that together are [0, count), from the calling thread
/// and up to `threads` - 1 others. Returns when all ranges are done.
///
/// `thread` is a number in [0, threads). Calls with the same number never overlap, so that it can
/// index scratch memory. The calling thread has number 0. Free threads take ranges in ascending
/// order, large ones first. The assignment of ranges to threads varies, and results must not depend
/// on it. Ranges must not wait for each other.
///
/// Calls may be nested, and several threads may call at the same time. If `work` throws, ranges
/// that have not begun are skipped, and the first exception is thrown to the caller. Throws
/// Cancelled if a stop is requested in the caller's StopScope.
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

/// A parallel_for() that reports progress and that a stop ends early.
class ParallelLoop {
  public:
    ParallelLoop(int threads, const ExecutionContext& context)
        : threads_(threads), context_(context) {}

    /// Runs item(i, thread) for every i in [0, count); the progress goes from `begin` to `end`.
    /// Throws Cancelled after a stop was requested.
    template <class Item>
    void run(index_t count, double begin, double end, Item item) const {
        std::atomic<index_t> done{0};
        parallel_for(count, threads_, [&](index_t i, int thread) {
            if (context_.stop.stop_requested()) return;
            item(i, thread);
            const index_t now = ++done;
            if (context_.progress && thread == 0)
                context_.progress(begin + (end - begin) * static_cast<double>(now) /
                                              static_cast<double>(count));
        });
        throw_if_stopped(context_);
    }

  private:
    int threads_;
    const ExecutionContext& context_;
};

/// A step on one plane that can be cut into batches.
struct PlaneStep {
    index_t batches;
    std::function<void(index_t z, index_t batch, int thread)> run;
};

/// Applies `steps` to planes 0 … planes-1. With enough planes for all threads, each thread takes
/// one plane through all steps, so that the plane stays in the core's cache. Otherwise threads
/// share the batches of a few planes. The progress goes from `begin` to `end`.
void run_plane_steps(const ParallelLoop& loop, index_t planes, index_t plane_bytes, int threads,
                     double begin, double end, std::initializer_list<PlaneStep> steps);

}  // namespace convolume
