// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads that hand out tasks, and the progress of tasks that run side by side.

#include <functional>
#include <mutex>
#include <vector>

#include "convolume/execution.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// Calls `run(worker, task)` once for every task in [0, tasks), with one thread for each of
/// `workers` workers. After an exception no further tasks begin, and the first exception is
/// rethrown.
void run_on_workers(int workers, index_t tasks, const ExecutionContext& context,
                    const std::function<void(int worker, index_t task)>& run);

/// Adds up the progress of tasks that run side by side.
class TaskProgress {
  public:
    /// Reports to `context` progress from `begin` to `end`, in which every task has an equal share.
    TaskProgress(const ExecutionContext& context, index_t tasks, double begin, double end)
        : context_(context),
          begin_(begin),
          end_(end),
          done_(static_cast<std::size_t>(tasks), 0.0) {}

    /// Returns a context like the caller's whose progress counts for `task`. It refers to this
    /// object.
    ExecutionContext of_task(index_t task);

    /// Calls `work` with the context of the task, and counts the task as complete.
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
    std::vector<double> done_;  ///< fraction of each task that is done
    double total_ = 0;          ///< sum of done_
    double reported_ = 0;       ///< fraction of all tasks that was reported last
};

}  // namespace convolume
