// SPDX-License-Identifier: Apache-2.0
#include "cli/files/volumes.hpp"

#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace convolume::cli {

namespace {

constexpr index_t in_flight = 2;  // items between two steps

enum Step { read_step, compute_step, write_step };

class Overlap {
  public:
    Overlap(index_t count, const ItemSteps& steps) : count_(count), steps_(steps) {}

    void run() {
        {
            const std::jthread reader([this] { take_all(read_step, steps_.read); });
            try {
                const std::jthread writer([this] { take_all(write_step, steps_.write); });
                take_all(compute_step, steps_.compute);
            } catch (const std::system_error&) {  // no thread for the writer
                fail(-1, std::current_exception());
            }
        }
        if (error_) std::rethrow_exception(error_);
    }

  private:
    /// The place of a step where there is one item at a time.
    static index_t place(index_t item, Step step) { return 3 * item + step; }

    /// Whether all that the step uses is there, and where its result goes is free.
    bool is_ready(index_t item, Step step) const {
        switch (step) {
            case read_step:
                return item < done_[compute_step] + in_flight;
            case compute_step:
                return item < done_[read_step] && item < done_[write_step] + in_flight;
            case write_step:
                break;
        }
        return item < done_[compute_step];
    }

    void take_all(Step step, const std::function<void(index_t)>& take) {
        for (index_t item = 0; item < count_; ++item) {
            {
                // What a step waits for comes before it, so that it is done or has failed.
                std::unique_lock lock(mutex_);
                changed_.wait(lock,
                              [&] { return place(item, step) > failed_ || is_ready(item, step); });
                if (place(item, step) > failed_) return;
            }
            try {
                if (take) take(item);
            } catch (...) {
                fail(place(item, step), std::current_exception());
                return;
            }
            {
                const std::lock_guard lock(mutex_);
                ++done_[step];
            }
            changed_.notify_all();
        }
    }

    void fail(index_t at, std::exception_ptr error) {
        {
            const std::lock_guard lock(mutex_);
            if (at < failed_) {
                failed_ = at;
                error_ = std::move(error);
            }
        }
        changed_.notify_all();
    }

    index_t count_;
    const ItemSteps& steps_;
    std::mutex mutex_;  // of what follows
    std::condition_variable changed_;
    index_t done_[3] = {0, 0, 0};                           // items that each step has done
    index_t failed_ = std::numeric_limits<index_t>::max();  // the first step that failed
    std::exception_ptr error_;
};

}  // namespace

void take_through(index_t count, bool overlapped, const ItemSteps& steps) {
    if (overlapped && count > 1) {
        Overlap(count, steps).run();
        return;
    }
    for (index_t item = 0; item < count; ++item)
        for (const auto* step : {&steps.read, &steps.compute, &steps.write})
            if (*step) (*step)(item);
}

}  // namespace convolume::cli
