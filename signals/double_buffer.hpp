// SPDX-License-Identifier: Apache-2.0
#pragma once
// Two slots that one thread fills and another empties.

#include <array>
#include <condition_variable>
#include <mutex>

#include "convolume/shape.hpp"

namespace convolume {

/// Items are numbered 0, 1, …; item i travels in slot i % 2.
template <class Slot>
class DoubleBuffer {
  public:
    Slot& slot(index_t item) { return slots_[static_cast<std::size_t>(item % 2)]; }

    /// Waits until the slot of `item` may be filled; false after stop().
    bool await_empty(index_t item) {
        return await([&] { return item - emptied_ < 2; });
    }
    void filled() { advance(filled_); }

    /// Waits until `item` is there.
    bool await_filled(index_t item) {
        return await([&] { return filled_ > item; });
    }
    void emptied() { advance(emptied_); }

    /// Ends all waiting, now and later.
    void stop() {
        {
            const std::lock_guard lock(mutex_);
            stopped_ = true;
        }
        changed_.notify_all();
    }

  private:
    template <class Condition>
    bool await(const Condition& condition) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopped_ || condition(); });
        return !stopped_;
    }
    void advance(index_t& count) {
        {
            const std::lock_guard lock(mutex_);
            ++count;
        }
        changed_.notify_all();
    }

    std::array<Slot, 2> slots_;
    std::mutex mutex_;
    std::condition_variable changed_;
    index_t filled_ = 0;
    index_t emptied_ = 0;
    bool stopped_ = false;
};

}  // namespace convolume
