// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adds up the progress of tasks that run side by side into one number that never falls.

#include <mutex>
#include <vector>

#include "convolume/execution.hpp"

namespace convolume {

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
