// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops shared by OpenMP threads, with progress, cancellation and exceptions.

#include <omp.h>

#include <atomic>
#include <exception>

#include "convolume/execution.hpp"

namespace convolume::cpu {

// Runs `item(i, thread)` for i in [0, count) on several threads: progress from `begin` to `end`,
// stops early when asked to. Exceptions of items are rethrown by the caller's thread.
class ParallelLoop {
  public:
    ParallelLoop(int threads, const ExecutionContext& context)
        : threads_(threads), context_(context) {}

    template <class Item>
    void run(index_t count, double begin, double end, Item item) {
        std::atomic<index_t> done{0};
        std::exception_ptr error;
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
        for (index_t i = 0; i < count; ++i) {
            if (failed_ || context_.stop.stop_requested()) continue;
            try {
                item(i, omp_get_thread_num());
                const index_t now = ++done;
                if (context_.progress && omp_get_thread_num() == 0)
                    context_.progress(begin + (end - begin) * static_cast<double>(now) /
                                                  static_cast<double>(count));
            } catch (...) {
#pragma omp critical(convolume_loop_error)
                if (!error) error = std::current_exception();
                failed_ = true;
            }
        }
        if (error) std::rethrow_exception(error);
        throw_if_stopped(context_);
    }

  private:
    int threads_;
    const ExecutionContext& context_;
    std::atomic<bool> failed_{false};
};

}  // namespace convolume::cpu
