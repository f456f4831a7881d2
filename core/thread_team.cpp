// SPDX-License-Identifier: Apache-2.0
// The team: threads that sleep until some caller has work to share.
//
// The machine may be busy with other programs, so nobody waits for a thread to *begin*: the caller
// works at once, team threads join when they wake up, and the caller waits in the end only for
// those that are in the middle of a range. Whoever waits, sleeps after a short spin.
#include "core/thread_team.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/threads.hpp"

namespace convolume {

namespace {

// Longer than the caller needs between two loops, shorter than what would disturb others.
constexpr std::chrono::microseconds spin_time{30};

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
    const auto end = std::chrono::steady_clock::now() + spin_time;
    do {
        for (int i = 0; i < 16; ++i) {
            if (condition()) return true;
            pause_core();
        }
    } while (std::chrono::steady_clock::now() < end);
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
        while (take(begin, end)) {
            try {
                function_(work_, begin, end, thread);
            } catch (...) {
                if (!failed_.exchange(true)) error_ = std::current_exception();
                next_.store(count_);
            }
        }
    }

    bool has_ranges() const { return next_.load(std::memory_order_relaxed) < count_; }
    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }

    std::atomic<int> inside{0};  ///< team threads at work on it

    // Guarded by the team's mutex.
    int places() const { return threads_ - taken_; }  ///< for threads that may still join
    int threads() const { return threads_; }
    int take_place() { return taken_++; }
    void close() { taken_ = threads_; }

  private:
    // Ranges become smaller towards the end, so that all threads finish at about the same time.
    bool take(index_t& begin, index_t& end) {
        begin = next_.load(std::memory_order_relaxed);
        do {
            if (begin >= count_) return false;
            end = begin + std::max<index_t>(1, (count_ - begin) / (index_t{4} * threads_));
        } while (!next_.compare_exchange_weak(begin, end));
        return true;
    }

    const index_t count_;
    const int threads_;
    const detail::RangeFunction function_;
    const void* const work_;
    std::atomic<index_t> next_{0};
    std::atomic<bool> failed_{false};
    std::exception_ptr error_;
    int taken_ = 1;  // the caller's
};

class ThreadTeam {
  public:
    void run(index_t count, int threads, detail::RangeFunction function, const void* work) {
        Job job(count, threads, function, work);
        const bool nested = working_;
        announce(job, !nested);
        working_ = true;
        job.run(0);
        working_ = nested;
        withdraw(job, !nested);
        const auto finished = [&job] { return job.inside.load() == 0; };
        if (!spin_for(finished)) {
            std::unique_lock lock(mutex_);
            ++waiting_callers_;
            finished_.wait(lock, finished);
            --waiting_callers_;
        }
        job.rethrow();
    }

  private:
    void announce(Job& job, bool starts) {
        bool wake = false;
        {
            const std::lock_guard lock(mutex_);
            jobs_.push_back(&job);
            places_ += job.places();
            active_ += starts;
            count_wanted();
            grow();
            wake = sleeping_ > 0 && wants_more();
        }
        if (wake) wake_two();
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
            largest = std::max(largest, job->threads());
            all += job->threads();
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

    // What a thread of the team does, as long as the process lives.
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
            // The job may end with the caller's return as soon as nobody is inside.
            if (job->inside.fetch_sub(1) == 1 && waiting_callers_.load() > 0) {
                const std::lock_guard lock(mutex_);
                finished_.notify_all();
            }
        }
    }

    // Who wakes up wakes others while there is work: the caller need not wake a hundred threads.
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

}  // namespace

void detail::run_shared(index_t count, int threads, RangeFunction function, const void* work) {
    if (count <= 0) return;
    if (threads > count) threads = static_cast<int>(count);
    if (threads <= 1) return function(work, 0, count, 0);
    team().run(count, threads, function, work);
}

}  // namespace convolume
