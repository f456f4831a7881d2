// SPDX-License-Identifier: Apache-2.0
#include "volumes/task_progress.hpp"

#include <algorithm>

namespace convolume {

ExecutionContext Progress::of_task(index_t task) {
    ExecutionContext context = context_;
    if (context.progress)
        context.progress = [this, task](double fraction) { update(task, fraction); };
    return context;
}

void Progress::update(index_t task, double fraction) {
    const std::lock_guard lock(mutex_);
    double& done = done_[static_cast<std::size_t>(task)];
    if (fraction <= done) return;
    total_ += fraction - done;
    done = fraction;
    double total = total_ / static_cast<double>(done_.size());
    if (total > 1 - 1e-9) total = 1;  // all done, but for the rounding of many steps
    if (total <= reported_) return;
    reported_ = total;
    context_.progress(begin_ + (end_ - begin_) * total);
}

}  // namespace convolume
