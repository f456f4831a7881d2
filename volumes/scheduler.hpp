// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs tasks over engines, one host thread for each task in flight, and adds up their progress.

#include <functional>
#include <mutex>
#include <vector>

#include "convolume/execution.hpp"
#include "core/engine.hpp"

namespace convolume {

/// Calls `run(engine_index, task_index)` once for every task in [0, tasks), each engine from its
/// own thread. The first exception stops the others from taking more tasks and is rethrown here.
void run_on_engines(int engines, index_t tasks, const ExecutionContext& context,
                    const std::function<void(int engine, index_t task)>& run);

class Progress {
  public:
    /// Reports into `context` the range [begin, end], shared evenly by `tasks`.
    Progress(const ExecutionContext& context, index_t tasks, double begin, double end)
        : context_(context),
          begin_(begin),
          end_(end),
          done_(static_cast<std::size_t>(tasks), 0.0) {}

    /// A context like the caller's whose progress counts for `task`. Refers to this object.
    ExecutionContext of_task(index_t task);

    /// Calls `work` with such a context. When it returns, the task is complete.
    template <class Work>
    void run(index_t task, const Work& work) {
        const ExecutionContext context = of_task(task);
        work(context);
        if (context.progress) context.progress(1);
    }

  private:
    void update(index_t task, double fraction);

    const ExecutionContext& context_;
    double begin_;
    double end_;
    std::mutex mutex_;
    std::vector<double> done_;
    double total_ = 0;  ///< sum of done_
    double reported_ = 0;
};

}  // namespace convolume
