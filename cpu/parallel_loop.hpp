// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops shared by threads, with progress and cancellation.

#include <atomic>

#include "convolume/execution.hpp"
#include "core/thread_team.hpp"

namespace convolume::cpu {

// Runs `item(i, thread)` for i in [0, count) on several threads: progress from `begin` to `end`,
// stops early when asked to. Exceptions of items are rethrown by the caller's thread.
class ParallelLoop {
  public:
    ParallelLoop(int threads, const ExecutionContext& context)
        : threads_(threads), context_(context) {}

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

}  // namespace convolume::cpu
