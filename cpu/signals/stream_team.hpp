// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads that share short work of one caller without locks and without memory from the system.
// core/threads.hpp has the loops of everything that has no deadline.

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::cpu {

/// A team of a caller and other threads. These wait for work in a short loop, then sleep until the
/// caller wakes them (a futex on Linux). A thread that the system delays, delays only tasks that it
/// has begun: the caller does all others.
class StreamTeam {
  public:
    static constexpr index_t most_tasks = (1 << 20) - 1;

    /// Starts threads - 1 threads. They have the priority of the calling thread.
    explicit StreamTeam(int threads);
    ~StreamTeam();
    StreamTeam(const StreamTeam&) = delete;
    StreamTeam& operator=(const StreamTeam&) = delete;

    int threads() const { return static_cast<int>(others_.size()) + 1; }

    /// Calls task(i, thread) for every i in [0, tasks), and returns when all have ended. Calls with
    /// the same number `thread` never overlap; the caller has number 0. Tasks must not throw. Only
    /// one thread may call at a time.
    template <class Task>
    void run(index_t tasks, const Task& task) noexcept {
        run_tasks(
            tasks,
            [](const void* work, index_t i, int thread) {
                (*static_cast<const Task*>(work))(i, thread);
            },
            &task);
    }

  private:
    using Function = void (*)(const void* work, index_t task, int thread);
    void run_tasks(index_t tasks, Function function, const void* work) noexcept;
    void take_tasks(int thread) noexcept;
    void serve(int thread) noexcept;

    // The round in the highest 24 bits, then the round's number of tasks and the next task in 20
    // bits each. A thread that is late cannot take a task of a round that is over.
    std::atomic<std::uint64_t> ticket_{0};
    std::atomic<index_t> done_{0};
    std::atomic<int> round_{0};
    std::atomic<bool> is_over_{false};
    Function function_ = nullptr;
    const void* work_ = nullptr;
    std::vector<std::thread> others_;
};

}  // namespace convolume::cpu
