// SPDX-License-Identifier: Apache-2.0
#include "core/item_steps.hpp"

#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace convolume {

namespace {

constexpr index_t items_in_flight = 2;  // items that wait between two steps, at most

enum Step { read_step, compute_step, write_step };

/// Runs the steps of items in three threads.
class OverlappedSteps {
  public:
    OverlappedSteps(index_t count, const ItemSteps& steps) : steps_(steps), count_(count) {}

    void run() {
        {
            const std::jthread reader([this] { run_step(read_step, steps_.read); });
            try {
                const std::jthread writer([this] { run_step(write_step, steps_.write); });
                run_step(compute_step, steps_.compute);
            } catch (const std::system_error&) {  // the system refused the thread of the writer
                fail(-1, std::current_exception());
            }
        }
        if (error_) std::rethrow_exception(error_);
    }

  private:
    /// Returns the number of a step when one item is processed after the other.
    static index_t sequence_number(index_t item, Step step) { return 3 * item + step; }

    /// Returns true if the input of the step is ready and the place of its result is free.
    bool is_ready(index_t item, Step step) const {
        switch (step) {
            case read_step:
                return item < done_[compute_step] + items_in_flight;
            case compute_step:
                return item < done_[read_step] && item < done_[write_step] + items_in_flight;
            case write_step:
                break;
        }
        return item < done_[compute_step];
    }

    /// Calls `work`, which is one of the steps, for every item.
    void run_step(Step step, const std::function<void(index_t)>& work) {
        for (index_t item = 0;; ++item) {
            const auto ends = [&] {
                return sequence_number(item, step) > failed_ || item >= count_;
            };
            {
                // A step waits only for earlier ones, which end or fail.
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [&] { return ends() || is_ready(item, step); });
                if (ends()) return;
            }
            bool is_last = false;
            try {
                if (work) work(item);
                is_last = step == read_step && steps_.is_last && steps_.is_last(item);
            } catch (...) {
                fail(sequence_number(item, step), std::current_exception());
                return;
            }
            {
                const std::lock_guard lock(mutex_);
                ++done_[step];
                if (is_last) count_ = item + 1;
            }
            changed_.notify_all();
        }
    }

    void fail(index_t at, std::exception_ptr error) {
        if (steps_.cancel) at = -1;
        {
            const std::lock_guard lock(mutex_);
            if (at < failed_) {
                failed_ = at;
                error_ = std::move(error);
            }
        }
        changed_.notify_all();
        if (steps_.cancel) steps_.cancel();
    }

    const ItemSteps& steps_;
    std::mutex mutex_;  // guards the members below
    index_t count_;
    std::condition_variable changed_;
    index_t done_[3] = {0, 0, 0};  // number of items that each step has done
    index_t failed_ = std::numeric_limits<index_t>::max();  // number of the first step that failed
    std::exception_ptr error_;
};

}  // namespace

void run_item_steps(index_t count, bool overlapped, const ItemSteps& steps) {
    if (overlapped && count > 1) {
        OverlappedSteps(count, steps).run();
        return;
    }
    for (index_t item = 0; item < count; ++item) {
        for (const auto* step : {&steps.read, &steps.compute, &steps.write})
            if (*step) (*step)(item);
        if (steps.is_last && steps.is_last(item)) return;
    }
}

}  // namespace convolume
