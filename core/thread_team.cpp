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
#include <list>
#include <mutex>
#include <system_error>
#include <thread>

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
    int take_place() { return taken_++; }
    void close() { taken_ = threads_; }

  private:
    // Ranges become smaller towards the end, so that all threads finish at about the same time.
    bool take(index_t& begin, index_t& end) {
        begin = next_.load(std::memory_order_relaxed);
        do {
            if (begin >= count_) return false;
            end = begin + std::max<index_t>(1, (count_ - begin) / (4 * threads_));
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
        const auto place = announce(job, threads - 1);
        job.run(0);
        withdraw(place, threads - 1);
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
    std::list<Job*>::iterator announce(Job& job, int places) {
        bool wake = false;
        std::list<Job*>::iterator place;
        {
            const std::lock_guard lock(mutex_);
            place = jobs_.insert(jobs_.end(), &job);
            wanted_ += places;
            places_ += places;
            grow(places);
            wake = sleeping_ > 0;
        }
        if (wake) wake_two();
        return place;
    }

    void withdraw(std::list<Job*>::iterator place, int places) {
        const std::lock_guard lock(mutex_);
        places_ -= (*place)->places();
        wanted_ -= places;
        jobs_.erase(place);
    }

    // As many threads as all present callers ask for, but not more than the machine has processors,
    // unless one caller asks for more.
    void grow(int places) {
        const int most = std::max(thread_count(0) - 1, places);
        for (const int target = std::min(wanted_, most); threads_ < target; ++threads_) {
            try {
                std::thread([this] { work(); }).detach();
            } catch (const std::system_error&) {
                return;  // the system has no more threads: those that there are do the work
            }
        }
    }

    // What a thread of the team does, as long as the process lives.
    void work() {
        while (true) {
            if (!spin_for([this] { return places_.load(std::memory_order_relaxed) > 0; })) sleep();
            int thread = 0;
            bool wake = false;
            Job* const job = join(thread, wake);
            if (!job) continue;
            if (wake) wake_two();
            job->run(thread);
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
        wake_.wait(lock, [this] { return places_.load() > 0; });
        --sleeping_;
    }

    Job* join(int& thread, bool& wake) {
        const std::lock_guard lock(mutex_);
        for (Job* const job : jobs_) {
            if (!job->has_ranges()) {
                places_ -= job->places();
                job->close();
            }
            if (job->places() == 0) continue;
            thread = job->take_place();
            ++job->inside;
            --places_;
            wake = sleeping_ > 0 && places_.load() > 0;
            return job;
        }
        return nullptr;
    }

    std::mutex mutex_;
    std::condition_variable wake_, finished_;
    std::list<Job*> jobs_;
    int threads_ = 0;   // that exist
    int wanted_ = 0;    // by all jobs together
    int sleeping_ = 0;  // threads of the team
    std::atomic<int> places_{0};
    std::atomic<int> waiting_callers_{0};
};

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
