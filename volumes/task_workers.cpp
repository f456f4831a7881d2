// SPDX-License-Identifier: Apache-2.0
#include "volumes/task_workers.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "core/stop_scope.hpp"

namespace convolume {

void run_on_workers(int workers, index_t tasks, const ExecutionContext& context,
                    const std::function<void(int worker, index_t task)>& run) {
    std::atomic<index_t> next{0};
    std::atomic<bool> failed{false};
    std::mutex error_mutex;
    std::exception_ptr first_error;

    const StopScope* const scope = current_stop_scope();
    const auto work = [&](int worker) {
        const AdoptedStopScope adopted(scope);
        try {
            while (!failed) {
                throw_if_stopped(context);
                const index_t task = next.fetch_add(1);
                if (task >= tasks) return;
                run(worker, task);
            }
        } catch (...) {
            const std::lock_guard lock(error_mutex);
            if (!first_error) first_error = std::current_exception();
            failed = true;
        }
    };

    const auto threads_used = static_cast<int>(std::min<index_t>(workers, tasks));
    {
        std::vector<std::jthread> threads;
        for (int worker = 1; worker < threads_used; ++worker) threads.emplace_back(work, worker);
        if (threads_used > 0) work(0);
    }
    if (first_error) std::rethrow_exception(first_error);
}

ExecutionContext TaskProgress::of_task(index_t task) {
    ExecutionContext context = context_;
    if (context.progress)
        context.progress = [this, task](double fraction) { update(task, fraction); };
    return context;
}

void TaskProgress::update(index_t task, double fraction) {
    const std::lock_guard lock(mutex_);
    double& done = done_[static_cast<std::size_t>(task)];
    if (fraction <= done) return;
    total_ += fraction - done;
    done = fraction;
    double total = total_ / static_cast<double>(done_.size());
    if (total > 1 - 1e-9) total = 1;  // all tasks are done; sums of many fractions are rounded
    if (total <= reported_) return;
    reported_ = total;
    context_.progress(begin_ + (end_ - begin_) * total);
}

}  // namespace convolume
