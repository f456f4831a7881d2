// SPDX-License-Identifier: Apache-2.0
#include "core/threads.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "convolume/error.hpp"
#include "core/stop_scope.hpp"

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
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
    // The machine has more processors than the set can represent.
    return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, most_threads);
}

}  // namespace

void check_threads(int threads) {
    if (threads < 0 || threads > most_threads)
        throw InvalidArgument(message(threads, " threads were asked for: give 1 to ", most_threads,
                                      ", or 0 for all"));
}

int thread_count(int threads) {
    check_threads(threads);
    if (threads > 0) return threads;
    static const int all = [] {
        const int requested = threads_of_environment();
        return requested > 0 ? requested : available_processors();
    }();
    return all;
}

// The team: threads that sleep until a caller has work to share.
//
// The machine may be busy with other programs, so no thread waits for another to *begin*. The
// caller works at once, and team threads join when they wake up. At the end the caller waits only
// for threads that are in the middle of a range. Waiting threads spin for a short time and then
// sleep.
//
// Waking a thread that then joins takes as long as some 10 µs of work. So the caller begins a loop
// of many items alone, and invites as many threads as the rest of the work justifies.

namespace {

using Clock = std::chrono::steady_clock;

// Longer than the caller needs between two loops, and too short to disturb other programs.
constexpr std::chrono::microseconds spin_time{30};

// Time that the caller works alone before it decides how many threads the rest justifies.
constexpr std::chrono::microseconds trial_time{3};
constexpr std::chrono::duration<double, std::micro> work_per_thread{10};
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

/// One call of run_shared(). The object is on the caller's stack.
class SharedLoop {
  public:
    SharedLoop(index_t count, int threads, detail::RangeFunction function, const void* work)
        : count_(count), threads_(threads), function_(function), work_(work) {}

    /// Computes ranges as thread number `thread` until none is left.
    void run(int thread) {
        index_t begin = 0, end = 0;
        while (take(begin, end)) run_range(begin, end, thread);
    }

    /// Computes ranges as the caller, thread number 0. Calls invite(threads) whenever the rest
    /// justifies more threads than before. Invites all threads at once if items are few, since each
    /// may take long, or if threads are few.
    template <class Invite>
    void run_as_caller(const Invite& invite) {
        int threads_worth = 1;
        if (threads_ <= few_threads || count_ < index_t{2} * threads_) {
            invite(threads_worth = threads_);
        } else {
            threads_worth = begin_as_single_thread();
            if (threads_worth > 1) invite(threads_worth);
        }
        index_t begin = 0, end = 0;
        while (threads_worth < threads_ && take(begin, end)) {
            const Clock::time_point start = Clock::now();
            run_range(begin, end, 0);
            const int now_worth = threads_worth_of_rest(end - begin, Clock::now() - start);
            if (now_worth > threads_worth) invite(threads_worth = now_worth);
        }
        run(0);
    }

    bool has_ranges() const { return next_.load(std::memory_order_relaxed) < count_; }
    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }

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
    /// Computes a few items on the caller alone; returns how many threads the rest justifies.
    int begin_as_single_thread() {
        const Clock::time_point start = Clock::now();
        index_t done = 0;
        for (index_t step = 1; has_ranges(); step = std::min(2 * step, count_)) {
            const index_t end = done + std::min(step, next_range_items(done));
            next_.store(end);
            run_range(done, end, 0);
            done = end;
            const Clock::duration spent = Clock::now() - start;
            if (spent >= trial_time) return threads_worth_of_rest(done, spent);
        }
        return 1;
    }

    /// Returns how many threads the rest justifies, if `items` took `spent`.
    int threads_worth_of_rest(index_t items, Clock::duration spent) const {
        const index_t rest = count_ - std::min(count_, next_.load(std::memory_order_relaxed));
        const double threads = static_cast<double>(rest) / static_cast<double>(items) *
                               (std::chrono::duration<double, std::micro>(spent) / work_per_thread);
        return threads < threads_ - 1 ? 1 + static_cast<int>(threads) : threads_;
    }

    void run_range(index_t begin, index_t end, int thread) {
        try {
            const AdoptedStopScope adopted(scope_);
            throw_if_stopped();
            function_(work_, begin, end, thread);
        } catch (...) {
            if (!failed_.exchange(true)) error_ = std::current_exception();
            next_.store(count_);
        }
    }

    // Ranges become smaller towards the end, so that all threads finish at about the same time.
    index_t next_range_items(index_t begin) const {
        return std::max<index_t>(1, (count_ - begin) / (index_t{4} * threads_));
    }

    bool take(index_t& begin, index_t& end) {
        begin = next_.load(std::memory_order_relaxed);
        do {
            if (begin >= count_) return false;
            end = begin + next_range_items(begin);
        } while (!next_.compare_exchange_weak(begin, end));
        return true;
    }

    const index_t count_;
    const int threads_;
    const detail::RangeFunction function_;
    const void* const work_;
    const StopScope* const scope_ = current_stop_scope();
    std::atomic<index_t> next_{0};
    std::atomic<bool> failed_{false};
    std::exception_ptr error_;
    int invited_ = 1, joined_ = 1;  // the caller counts as invited and joined
};

class ThreadTeam {
  public:
    void run(index_t count, int threads, detail::RangeFunction function, const void* work) {
        SharedLoop loop(count, threads, function, work);
        const bool nested = working_;
        bool announced = false;
        working_ = true;
        loop.run_as_caller([&](int invited) {
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
    void invite(SharedLoop& loop, int threads, bool starts) {
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

    void await_threads(const SharedLoop& loop) {
        const auto finished = [&loop] { return loop.inside.load() == 0; };
        if (spin_for(finished)) return;
        std::unique_lock lock(mutex_);
        ++waiting_callers_;
        finished_.wait(lock, finished);
        --waiting_callers_;
    }

    void withdraw(SharedLoop& loop, bool ends) {
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
        for (const SharedLoop* const loop : loops_) {
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
            SharedLoop* const loop = join(thread, wake);
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

    SharedLoop* join(int& thread, bool& wake) {
        const std::lock_guard lock(mutex_);
        for (SharedLoop* const loop : loops_) {
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
    std::vector<SharedLoop*> loops_;   // loops of present callers, oldest first
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
        pthread_atfork(nullptr, nullptr, [] { current_team = new ThreadTeam; });
        return true;
    }();
    static_cast<void>(made);
    return *current_team;
}

// Computes the whole range on this thread, in pieces only if a stop may be requested between them.
void run_alone(index_t count, detail::RangeFunction function, const void* work) {
    constexpr index_t pieces = 64;
    const index_t step = current_stop_scope() == nullptr ? count : ceil_div(count, pieces);
    for (index_t begin = 0; begin < count; begin += step) {
        throw_if_stopped();
        function(work, begin, std::min(begin + step, count), 0);
    }
}

}  // namespace

void detail::run_shared(index_t count, int threads, RangeFunction function, const void* work) {
    if (count <= 0) return;
    if (threads > count) threads = static_cast<int>(count);
    if (threads <= 1) return run_alone(count, function, work);
    team().run(count, threads, function, work);
}

void run_plane_steps(const ParallelLoop& loop, index_t planes, index_t plane_bytes, int threads,
                     double begin, double end, std::initializer_list<PlaneStep> steps) {
    if (planes >= 2 * threads) {
        loop.run(planes, begin, end, [&](index_t z, int thread) {
            for (const PlaneStep& step : steps)
                for (index_t batch = 0; batch < step.batches; ++batch) step.run(z, batch, thread);
        });
        return;
    }
    // Loops over less than this are not worth waking other threads for.
    constexpr index_t worth_sharing_bytes = index_t{4} << 20;
    const index_t together = ceil_div(worth_sharing_bytes, plane_bytes);
    const auto step_count = static_cast<double>(steps.size());
    const double share = (end - begin) / (step_count * static_cast<double>(planes));
    for (index_t from = 0; from < planes; from += together) {
        const index_t here = std::min(together, planes - from);
        double at = begin + step_count * share * static_cast<double>(from);
        for (const PlaneStep& step : steps) {
            const double next = at + share * static_cast<double>(here);
            loop.run(here * step.batches, at, next, [&](index_t i, int thread) {
                step.run(from + i / step.batches, i % step.batches, thread);
            });
            at = next;
        }
    }
}

}  // namespace convolume
