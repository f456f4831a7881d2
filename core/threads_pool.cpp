// SPDX-License-Identifier: Apache-2.0
// The backend "pool": a team of threads of the library's own.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/system/system.hpp"
#include "core/thread_backend.hpp"
#include "core/threads.hpp"

namespace convolume {

namespace {

// Batch systems and users set OMP_NUM_THREADS for all programs. Malformed values are ignored.
int threads_of_environment() {
    const char* const text = std::getenv("OMP_NUM_THREADS");
    if (!text) return 0;
    char* end = nullptr;
    const long number = std::strtol(text, &end, 10);
    const bool valid = end != text && (*end == '\0' || *end == ',' || *end == ' ');
    return valid && number > 0 ? static_cast<int>(std::min<long>(number, most_threads)) : 0;
}

int available_processors() {
    if (const int usable = system::usable_processors(); usable > 0) return usable;
    return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, most_threads);
}

}  // namespace

const char* thread_backend() {
    return "pool";
}

int backend_thread_count() {
    const int requested = threads_of_environment();
    return requested > 0 ? requested : available_processors();
}

// The team: threads that sleep until a caller has work to share.
//
// The machine may be busy with other programs, so no thread waits for another to *begin*. The
// caller works at once, and team threads join when they wake up. At the end the caller waits only
// for threads that are in the middle of a range. Waiting threads spin for a short time and then
// sleep.

namespace {

using Clock = std::chrono::steady_clock;

// Longer than the caller needs between two loops, and too short to disturb other programs.
constexpr std::chrono::microseconds spin_time{30};

constexpr int few_threads = 4;  // up to this number, all threads are woken at once

void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Waits a short time for `condition`; returns whether it holds.
template <class Condition>
bool spin_for(const Condition& condition) {
    const auto end = Clock::now() + spin_time;
    do {
        for (int i = 0; i < 16; ++i) {
            if (condition()) return true;
            pause_core();
        }
    } while (Clock::now() < end);
    return condition();
}

/// A loop with places for the threads of the team.
class TeamLoop : public SharedLoop {
  public:
    using SharedLoop::SharedLoop;

    std::atomic<int> inside{0};  ///< team threads that compute ranges of this loop

    // The following members are guarded by the team's mutex.
    int open_places() const {
        return invited_ - joined_;
    }                                         ///< number of threads that may still join
    int invited() const { return invited_; }  ///< number of invited threads, including the caller
    void set_invited(int threads) { invited_ = threads; }
    int take_place() { return joined_++; }
    void close() { joined_ = invited_; }

  private:
    int invited_ = 1, joined_ = 1;  // the caller counts as invited and joined
};

class ThreadTeam {
  public:
    void run(index_t count, int threads, detail::RangeFunction function, const void* work) {
        TeamLoop loop(count, threads, function, work);
        const bool nested = working_;
        bool announced = false;
        working_ = true;
        loop.run_as_caller(few_threads, [&](int invited) {
            invite(loop, invited, !announced && !nested);
            announced = true;
        });
        working_ = nested;
        if (announced) {
            withdraw(loop, !nested);
            await_threads(loop);
        }
        loop.rethrow();
    }

  private:
    void invite(TeamLoop& loop, int threads, bool starts) {
        bool wake = false;
        {
            const std::lock_guard lock(mutex_);
            if (loop.invited() == 1) loops_.push_back(&loop);
            open_places_ += threads - loop.invited();
            loop.set_invited(threads);
            active_ += starts;
            count_wanted();
            start_threads();
            wake = sleeping_ > 0 && wants_more();
        }
        if (wake) wake_two();
    }

    void await_threads(const TeamLoop& loop) {
        const auto finished = [&loop] { return loop.inside.load() == 0; };
        if (spin_for(finished)) return;
        std::unique_lock lock(mutex_);
        ++waiting_callers_;
        finished_.wait(lock, finished);
        --waiting_callers_;
    }

    void withdraw(TeamLoop& loop, bool ends) {
        bool wake = false;
        {
            const std::lock_guard lock(mutex_);
            open_places_ -= loop.open_places();
            active_ -= ends;
            loops_.erase(std::find(loops_.begin(), loops_.end(), &loop));
            count_wanted();
            wake = sleeping_ > 0 && wants_more();
        }
        if (wake) wake_two();
    }

    // Sets the number of threads that should compute: as many as all present callers ask for. The
    // limit is the number of processors, unless one caller asks for more.
    void count_wanted() {
        static const int processors = thread_count(0);
        int largest = processors, all = 0;
        for (const TeamLoop* const loop : loops_) {
            largest = std::max(largest, loop->invited());
            all += loop->invited();
        }
        wanted_ = std::min(all, largest);
    }

    bool wants_more() const {
        return open_places_.load(std::memory_order_relaxed) > 0 &&
               active_.load(std::memory_order_relaxed) < wanted_.load(std::memory_order_relaxed);
    }

    void start_threads() {
        for (; threads_ + 1 < wanted_; ++threads_) {
            try {
                std::thread([this] { work(); }).detach();
            } catch (const std::system_error&) {
                return;  // the system has no more threads: the existing ones do the work
            }
        }
    }

    // Runs the loop of a team thread, until the process ends.
    void work() {
        working_ = true;
        while (true) {
            if (!spin_for([this] { return wants_more(); })) sleep();
            int thread = 0;
            bool wake = false;
            TeamLoop* const loop = join(thread, wake);
            if (!loop) continue;
            if (wake) wake_two();
            loop->run(thread);
            --active_;
            // The loop object may be destroyed as soon as no thread is inside.
            if (loop->inside.fetch_sub(1) == 1 && waiting_callers_.load() > 0) {
                const std::lock_guard lock(mutex_);
                finished_.notify_all();
            }
        }
    }

    // Each thread that wakes up wakes others while there is work, so that the caller need not wake
    // all.
    void wake_two() {
        wake_.notify_one();
        wake_.notify_one();
    }

    void sleep() {
        std::unique_lock lock(mutex_);
        ++sleeping_;
        wake_.wait(lock, [this] { return wants_more(); });
        --sleeping_;
    }

    TeamLoop* join(int& thread, bool& wake) {
        const std::lock_guard lock(mutex_);
        for (TeamLoop* const loop : loops_) {
            if (!loop->has_ranges()) {
                open_places_ -= loop->open_places();
                loop->close();
            }
            if (loop->open_places() == 0 || !wants_more()) continue;
            thread = loop->take_place();
            ++loop->inside;
            --open_places_;
            ++active_;
            wake = sleeping_ > 0 && wants_more();
            return loop;
        }
        return nullptr;
    }

    std::mutex mutex_;
    std::condition_variable wake_, finished_;
    std::vector<TeamLoop*> loops_;     // loops of present callers, oldest first
    int threads_ = 0;                  // threads of the team
    int sleeping_ = 0;                 // team threads that sleep
    std::atomic<int> wanted_{0};       // threads that should compute, callers included
    std::atomic<int> active_{0};       // threads that compute
    std::atomic<int> open_places_{0};  // number of threads that may join a loop
    std::atomic<int> waiting_callers_{0};
    static thread_local bool working_;  // whether this thread counts as active
};

thread_local bool ThreadTeam::working_ = false;

// The team is never destroyed, because its threads live until the process ends. A forked process
// has none of these threads and starts a new team.
std::atomic<ThreadTeam*> current_team{nullptr};

ThreadTeam& team() {
    static const bool made = [] {
        current_team = new ThreadTeam;
        system::on_fork(nullptr, [] { current_team = new ThreadTeam; });
        return true;
    }();
    static_cast<void>(made);
    return *current_team;
}

}  // namespace

void run_on_backend(index_t count, int threads, detail::RangeFunction function, const void* work) {
    team().run(count, threads, function, work);
}

}  // namespace convolume
