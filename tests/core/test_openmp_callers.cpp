// SPDX-License-Identifier: Apache-2.0
// Loops of core/threads.hpp in programs that use OpenMP themselves. Fresh processes test what
// depends on the environment or on the first use of threads.
#include <omp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/threads.hpp"
#include "tests/catch.hpp"

using namespace convolume;

namespace {

long threads_of_process() {
    struct stat folder = {};
    return stat("/proc/self/task", &folder) == 0 ? static_cast<long>(folder.st_nlink) - 2 : 0;
}

std::size_t threads_of_loop() {
    std::set<std::thread::id> ids;
    std::mutex mutex;
    parallel_for(2, 2, [&](index_t, int) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        const std::lock_guard lock(mutex);
        ids.insert(std::this_thread::get_id());
    });
    return ids.size();
}

int status_of_child(const std::function<bool()>& works) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);  // ends a child that waits for threads of its parent
        _exit(works() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

}  // namespace

// The first case: no thread has been started yet.
TEST_CASE("a process that is forked before any thread starts has all threads") {
    REQUIRE(threads_of_process() == 1);
    CHECK(status_of_child([] { return threads_of_loop() == 2; }) == 0);
}

TEST_CASE("a forked process computes after another library of its parent used OpenMP") {
    int members = 0;
#pragma omp parallel num_threads(3) reduction(+ : members)
    ++members;
    REQUIRE(members == 3);
    CHECK(status_of_child([] {
              std::atomic<int> sum{0};
              parallel_for(100, 4, [&](index_t, int) { ++sum; });
              return sum == 100;
          }) == 0);
}

TEST_CASE("loops in a parallel region of the caller visit every index") {
    std::atomic<index_t> sum{0};
    long threads_inside = 0;
#pragma omp parallel num_threads(3)
    {
#pragma omp for
        for (int caller = 0; caller < 30; ++caller)
            parallel_for(40, 4, [&](index_t i, int) {
                parallel_for(3, 2, [&](index_t j, int) { sum += 3 * i + j; });
            });
#pragma omp single
        threads_inside = threads_of_process();
    }
    CHECK(sum == index_t{30} * (119 * 120 / 2));
    if (thread_backend() == std::string("openmp")) CHECK(threads_inside == 3);
}

TEST_CASE("idle threads of the caller's parallel region join a loop") {
    std::set<std::thread::id> ids;
    std::mutex mutex;
#pragma omp parallel num_threads(3)
#pragma omp single
    parallel_for(6, 3, [&](index_t, int) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        const std::lock_guard lock(mutex);
        ids.insert(std::this_thread::get_id());
    });
    CHECK(ids.size() == 3);
}

TEST_CASE("an exception in a loop reaches its caller inside a parallel region") {
    std::atomic<int> caught{0};
#pragma omp parallel num_threads(3)
    try {
        parallel_for(1000, 3, [](index_t i, int) {
            if (i == 7) throw std::runtime_error("at 7");
        });
    } catch (const std::runtime_error&) {
        ++caught;
    }
    CHECK(caught == 3);
}

// Run with OMP_NUM_THREADS=3,2 (tests/core/CMakeLists.txt).
TEST_CASE("the first number of OMP_NUM_THREADS is the number of threads", "[.environment]") {
    CHECK(thread_count(0) == 3);
}
