// SPDX-License-Identifier: Apache-2.0
#include "volumes/scheduler.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "core/stop_scope.hpp"

namespace convolume {

void run_on_engines(int engines, index_t tasks, const ExecutionContext& context,
                    const std::function<void(int engine, index_t task)>& run) {
    std::atomic<index_t> next{0};
    std::atomic<bool> failed{false};
    std::mutex error_mutex;
    std::exception_ptr first_error;

    const StopScope* const scope = current_stop_scope();
    const auto work = [&](int engine) {
        const AdoptedStopScope adopted(scope);
        try {
            while (!failed) {
                throw_if_stopped(context);
                const index_t task = next.fetch_add(1);
                if (task >= tasks) return;
                run(engine, task);
            }
        } catch (...) {
            const std::lock_guard lock(error_mutex);
            if (!first_error) first_error = std::current_exception();
            failed = true;
        }
    };

    const auto workers = static_cast<int>(std::min<index_t>(engines, tasks));
    {
        std::vector<std::jthread> threads;
        for (int engine = 1; engine < workers; ++engine) threads.emplace_back(work, engine);
        if (workers > 0) work(0);
    }
    if (first_error) std::rethrow_exception(first_error);
}

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
