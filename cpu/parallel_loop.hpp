// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops shared by threads, with progress and cancellation.

#include <algorithm>
#include <atomic>
#include <functional>
#include <initializer_list>

#include "convolume/execution.hpp"
#include "core/threads.hpp"

namespace convolume::cpu {

// Runs `item(i, thread)` for i in [0, count) on several threads. Reports progress from `begin` to
// `end`, and stops early on request. Exceptions of items are rethrown on the caller's thread.
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

/// A computation on one plane that can be divided into batches.
struct PlaneStep {
    index_t batches;
    std::function<void(index_t z, index_t batch, int thread)> run;
};

/// Applies steps to planes 0 … planes-1. If there are enough planes, threads take whole planes,
/// each of which then stays in a core's cache. Otherwise threads share the batches of a few planes.
inline void for_each_plane(ParallelLoop& loop, index_t planes, index_t plane_bytes, int threads,
                           double begin, double end, std::initializer_list<PlaneStep> steps) {
    if (planes >= 2 * threads) {
        loop.run(planes, begin, end, [&](index_t z, int thread) {
            for (const PlaneStep& step : steps)
                for (index_t batch = 0; batch < step.batches; ++batch) step.run(z, batch, thread);
        });
        return;
    }
    // Loops over fewer bytes are not worth waking other threads.
    constexpr index_t worth_sharing_bytes = index_t{4} << 20;
    const index_t together = ceil_div(worth_sharing_bytes, plane_bytes);
    const auto step_count = static_cast<double>(steps.size());
    const double share = (end - begin) / (step_count * static_cast<double>(planes));
    for (index_t from = 0; from < planes; from += together) {
        const index_t here = std::min(together, planes - from);
        double at = begin + step_count * share * static_cast<double>(from);
        for (const PlaneStep& step : steps) {
            const double next = at + share * static_cast<double>(here);
            loop.run(here * step.batches, at, next, [&](index_t i, int thread) {
                step.run(from + i / step.batches, i % step.batches, thread);
            });
            at = next;
        }
    }
}

}  // namespace convolume::cpu
