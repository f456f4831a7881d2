// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a backend of core/threads.hpp provides, and the loop that backends share. A program has one
// backend: threads_pool.cpp or threads_openmp.cpp (the CMake option CONVOLUME_THREADS).

#include <atomic>
#include <chrono>
#include <exception>

#include "core/stop_scope.hpp"
#include "core/threads.hpp"

namespace convolume {

/// Returns the number of threads that 0 stands for. Called once.
int backend_thread_count();

/// Computes a loop of at least two items with up to `threads` threads, at least two. Calls may be
/// nested and concurrent. Throws the first exception of the loop.
void run_on_backend(index_t count, int threads, detail::RangeFunction function, const void* work);

/// One call of run_on_backend(): hands out ranges, and keeps the first exception. The object is on
/// the caller's stack.
class SharedLoop {
  public:
    SharedLoop(index_t count, int threads, detail::RangeFunction function, const void* work);

    /// Number of threads that can have work, the caller included.
    int threads() const { return threads_; }

    /// Computes ranges as thread number `thread` until none is left. Keeps exceptions.
    void run(int thread);

    /// Computes ranges as the caller, thread number 0. Calls invite(threads) whenever the rest
    /// justifies more threads than before. Invites all threads at once if items are few, since each
    /// may take long, or if there are at most `few_threads` threads.
    template <class Invite>
    void run_as_caller(int few_threads, const Invite& invite) {
        int threads_worth = 1;
        if (threads_ <= few_threads || count_ < index_t{2} * threads_) {
            invite(threads_worth = threads_);
        } else {
            threads_worth = begin_as_single_thread();
            if (threads_worth > 1) invite(threads_worth);
        }
        index_t begin = 0, end = 0;
        while (threads_worth < threads_ && take(begin, end)) {
            const Clock::time_point start = Clock::now();
            run_range(begin, end, 0);
            const int now_worth = threads_worth_of_rest(end - begin, Clock::now() - start);
            if (now_worth > threads_worth) invite(threads_worth = now_worth);
        }
        run(0);
    }

    bool has_ranges() const { return next_.load(std::memory_order_relaxed) < count_; }
    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }

  private:
    using Clock = std::chrono::steady_clock;

    int begin_as_single_thread();
    int threads_worth_of_rest(index_t items, Clock::duration spent) const;
    void run_range(index_t begin, index_t end, int thread);
    index_t next_range_items(index_t begin) const;
    bool take(index_t& begin, index_t& end);

    const index_t count_;
    const int threads_;
    const detail::RangeFunction function_;
    const void* const work_;
    const StopScope* const scope_ = current_stop_scope();
    std::atomic<index_t> next_{0};
    std::atomic<bool> failed_{false};
    std::exception_ptr error_;
};

}  // namespace convolume
