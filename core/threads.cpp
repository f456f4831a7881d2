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

// Batch systems and users set this variable for all programs. Malformed values are ignored.
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
    // More processors than the set can name.
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
        const int asked = threads_of_environment();
        return asked > 0 ? asked : available_processors();
    }();
    return all;
}

// The team: threads that sleep until some caller has work to share.
//
// The machine may be busy with other programs, so no thread waits for another to *begin*: the
// caller works at once, team threads join when they wake up, and the caller waits in the end only
// for those that are in the middle of a range. Waiting threads sleep after a short spin.
//
// Waking a thread and having it join takes as long as some 10 µs of work. So a loop of many items
// begins alone, and the caller invites as many threads as the rest of the work is worth.

namespace {

using Clock = std::chrono::steady_clock;

// Longer than the caller needs between two loops, shorter than what would disturb others.
constexpr std::chrono::microseconds spin_time{30};

// The caller works alone for so long before it judges how many threads the rest is worth.
constexpr std::chrono::microseconds trial_time{3};
constexpr std::chrono::duration<double, std::micro> worth_a_thread{10};
constexpr int few_threads = 4;  // so few are woken at once

void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Waits a short time for `condition`, and returns it.
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

/// One call of run_shared(). It lives on the caller's stack.
class Job {
  public:
    Job(index_t count, int threads, detail::RangeFunction function, const void* work)
        : count_(count), threads_(threads), function_(function), work_(work) {}

    /// Works as thread number `thread` until no range is left.
    void run(int thread) {
        index_t begin = 0, end = 0;
        while (take(begin, end)) run_range(begin, end, thread);
    }

    /// The caller's work, as thread number 0. Calls invite(threads) when the rest turns out to be
    /// worth more threads than before, at once where items are few, since each may be long, or
    /// threads are.
    template <class Invite>
    void run_as_caller(const Invite& invite) {
        int worth = 1;
        if (threads_ <= few_threads || count_ < index_t{2} * threads_) {
            invite(worth = threads_);
        } else {
            worth = begin_alone();
            if (worth > 1) invite(worth);
        }
        index_t begin = 0, end = 0;
        while (worth < threads_ && take(begin, end)) {
            const Clock::time_point start = Clock::now();
            run_range(begin, end, 0);
            const int now_worth = worth_of_rest(end - begin, Clock::now() - start);
            if (now_worth > worth) invite(worth = now_worth);
        }
        run(0);
    }

    bool has_ranges() const { return next_.load(std::memory_order_relaxed) < count_; }
    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }

    std::atomic<int> inside{0};  ///< team threads at work on it

    // Guarded by the team's mutex.
    int places() const { return invited_ - taken_; }  ///< for threads that may still join
    int invited() const { return invited_; }          ///< with the caller
    void set_invited(int threads) { invited_ = threads; }
    int take_place() { return taken_++; }
    void close() { taken_ = invited_; }

  private:
    /// A few items by the caller alone; returns how many threads the rest is worth.
    int begin_alone() {
        const Clock::time_point start = Clock::now();
        index_t done = 0;
        for (index_t step = 1; has_ranges(); step = std::min(2 * step, count_)) {
            const index_t end = done + std::min(step, share(done));
            next_.store(end);
            run_range(done, end, 0);
            done = end;
            const Clock::duration spent = Clock::now() - start;
            if (spent >= trial_time) return worth_of_rest(done, spent);
        }
        return 1;
    }

    /// For how many threads there is work left, if the rest takes as long as `items` in `spent`.
    int worth_of_rest(index_t items, Clock::duration spent) const {
        const index_t rest = count_ - std::min(count_, next_.load(std::memory_order_relaxed));
        const double threads = static_cast<double>(rest) / static_cast<double>(items) *
                               (std::chrono::duration<double, std::micro>(spent) / worth_a_thread);
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
    index_t share(index_t begin) const {
        return std::max<index_t>(1, (count_ - begin) / (index_t{4} * threads_));
    }

    bool take(index_t& begin, index_t& end) {
        begin = next_.load(std::memory_order_relaxed);
        do {
            if (begin >= count_) return false;
            end = begin + share(begin);
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
    int invited_ = 1, taken_ = 1;  // the caller
};

class ThreadTeam {
  public:
    void run(index_t count, int threads, detail::RangeFunction function, const void* work) {
        Job job(count, threads, function, work);
        const bool nested = working_;
        bool announced = false;
        working_ = true;
        job.run_as_caller([&](int invited) {
            invite(job, invited, !announced && !nested);
            announced = true;
        });
        working_ = nested;
        if (announced) {
            withdraw(job, !nested);
            await_threads(job);
        }
        job.rethrow();
    }

  private:
    void invite(Job& job, int threads, bool starts) {
        bool wake = false;
        {
            const std::lock_guard lock(mutex_);
            if (job.invited() == 1) jobs_.push_back(&job);
            places_ += threads - job.invited();
            job.set_invited(threads);
            active_ += starts;
            count_wanted();
            grow();
            wake = sleeping_ > 0 && wants_more();
        }
        if (wake) wake_two();
    }

    void await_threads(const Job& job) {
        const auto finished = [&job] { return job.inside.load() == 0; };
        if (spin_for(finished)) return;
        std::unique_lock lock(mutex_);
        ++waiting_callers_;
        finished_.wait(lock, finished);
        --waiting_callers_;
    }

    void withdraw(Job& job, bool ends) {
        bool wake = false;
        {
            const std::lock_guard lock(mutex_);
            places_ -= job.places();
            active_ -= ends;
            jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
            count_wanted();
            wake = sleeping_ > 0 && wants_more();
        }
        if (wake) wake_two();
    }

    // As many threads at work as all present callers ask for, but not more than the machine has
    // processors, unless one caller asks for more.
    void count_wanted() {
        static const int processors = thread_count(0);
        int largest = processors, all = 0;
        for (const Job* const job : jobs_) {
            largest = std::max(largest, job->invited());
            all += job->invited();
        }
        wanted_ = std::min(all, largest);
    }

    bool wants_more() const {
        return places_.load(std::memory_order_relaxed) > 0 &&
               active_.load(std::memory_order_relaxed) < wanted_.load(std::memory_order_relaxed);
    }

    void grow() {
        for (; threads_ + 1 < wanted_; ++threads_) {
            try {
                std::thread([this] { work(); }).detach();
            } catch (const std::system_error&) {
                return;  // the system has no more threads: those that there are do the work
            }
        }
    }

    // The loop of a thread of the team, as long as the process lives.
    void work() {
        working_ = true;
        while (true) {
            if (!spin_for([this] { return wants_more(); })) sleep();
            int thread = 0;
            bool wake = false;
            Job* const job = join(thread, wake);
            if (!job) continue;
            if (wake) wake_two();
            job->run(thread);
            --active_;
            // The job may end with the caller's return as soon as no thread is inside.
            if (job->inside.fetch_sub(1) == 1 && waiting_callers_.load() > 0) {
                const std::lock_guard lock(mutex_);
                finished_.notify_all();
            }
        }
    }

    // A thread that wakes up wakes others while there is work: the caller need not wake all.
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

    Job* join(int& thread, bool& wake) {
        const std::lock_guard lock(mutex_);
        for (Job* const job : jobs_) {
            if (!job->has_ranges()) {
                places_ -= job->places();
                job->close();
            }
            if (job->places() == 0 || !wants_more()) continue;
            thread = job->take_place();
            ++job->inside;
            --places_;
            ++active_;
            wake = sleeping_ > 0 && wants_more();
            return job;
        }
        return nullptr;
    }

    std::mutex mutex_;
    std::condition_variable wake_, finished_;
    std::vector<Job*> jobs_;      // of present callers, oldest first
    int threads_ = 0;             // of the team
    int sleeping_ = 0;            // of these
    std::atomic<int> wanted_{0};  // threads at work, callers included
    std::atomic<int> active_{0};  // threads that are
    std::atomic<int> places_{0};  // for threads that may join
    std::atomic<int> waiting_callers_{0};
    static thread_local bool working_;  // this thread counts as active
};

thread_local bool ThreadTeam::working_ = false;

// Its threads live until the process ends, so that it is never destroyed. A forked process has none
// of them and begins with a new team.
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

// In pieces only if a stop may be requested between them.
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
