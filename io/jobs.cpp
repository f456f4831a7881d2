// SPDX-License-Identifier: Apache-2.0
#include "io/jobs.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace convolume::io {

int job_threads(index_t jobs, index_t bytes, index_t bytes_a_thread) {
    constexpr index_t most = 8;
    const index_t processors = std::max<index_t>(std::thread::hardware_concurrency(), 1);
    return static_cast<int>(
        std::max<index_t>(std::min({jobs, bytes / bytes_a_thread, most, processors}), 1));
}

void run_jobs(index_t count, int threads, const std::function<void(index_t)>& job) {
    if (threads <= 1 || count <= 1) {
        for (index_t i = 0; i < count; ++i) job(i);
        return;
    }
    std::atomic<index_t> next{0};
    std::mutex mutex;
    std::exception_ptr error;
    const auto work = [&] {
        try {
            for (index_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) job(i);
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (!error) error = std::current_exception();
            next.store(count);
        }
    };
    {
        std::vector<std::jthread> others;
        try {
            for (int i = 1; i < threads; ++i) others.emplace_back(work);
        } catch (const std::system_error&) {
            // The system starts no more threads, so the threads that run do all jobs.
        }
        work();
    }
    if (error) std::rethrow_exception(error);
}

}  // namespace convolume::io
