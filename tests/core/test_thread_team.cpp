// SPDX-License-Identifier: Apache-2.0
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <atomic>
#include <chrono>
#include <cstdlib>
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

std::vector<int> visits(index_t count, int threads) {
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
    parallel_for(count, threads, [&](index_t i, int) { ++seen[static_cast<std::size_t>(i)]; });
    return {seen.begin(), seen.end()};
}

/// Returns the number of threads that share two long items.
[[maybe_unused]] std::size_t threads_of_long_items() {  // not without forks
    std::set<std::thread::id> ids;
    std::mutex mutex;
    parallel_for(2, 2, [&](index_t, int) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        const std::lock_guard lock(mutex);
        ids.insert(std::this_thread::get_id());
    });
    return ids.size();
}

}  // namespace

TEST_CASE("a loop visits every index once") {
    for (const int threads : {1, 2, 3, 8, 33})
        for (const index_t count : {0, 1, 2, 7, 64, 1000}) {
            INFO(threads << " threads, " << count << " indices");
            CHECK(visits(count, threads) == std::vector<int>(static_cast<std::size_t>(count), 1));
        }
}

TEST_CASE(
    "ranges cover all indices, ascend in each thread, and have thread numbers below the limit") {
    constexpr int threads = 4;
    constexpr index_t count = 10000;
    std::vector<index_t> last(threads, 0), sum(threads, 0);
    std::atomic<bool> wrong{false};
    parallel_ranges(count, threads, [&](index_t begin, index_t end, int thread) {
        if (thread < 0 || thread >= threads || begin >= end ||
            begin < last[static_cast<std::size_t>(thread)]) {
            wrong = true;
            return;
        }
        last[static_cast<std::size_t>(thread)] = end;
        sum[static_cast<std::size_t>(thread)] += end - begin;
    });
    CHECK_FALSE(wrong);
    CHECK(sum[0] + sum[1] + sum[2] + sum[3] == count);
}

TEST_CASE("no two concurrent calls have the same thread number") {
    constexpr int threads = 6;
    std::vector<std::atomic<int>> inside(threads);
    std::atomic<bool> twice{false};
    for (int repeat = 0; repeat < 200; ++repeat)
        parallel_for(40, threads, [&](index_t, int thread) {
            auto& callers_inside = inside[static_cast<std::size_t>(thread)];
            if (callers_inside.fetch_add(1) != 0) twice = true;
            std::this_thread::yield();
            --callers_inside;
        });
    CHECK_FALSE(twice);
}

TEST_CASE("several threads work, and the caller has number 0") {
    std::set<std::thread::id> ids;
    std::atomic<bool> caller_is_zero{true};
    std::mutex mutex;
    const auto caller = std::this_thread::get_id();
    parallel_for(4, 4, [&](index_t, int thread) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        const std::lock_guard lock(mutex);
        ids.insert(std::this_thread::get_id());
        if ((std::this_thread::get_id() == caller) != (thread == 0)) caller_is_zero = false;
    });
    CHECK(ids.size() == 4);
    CHECK(ids.count(caller) == 1);
    CHECK(caller_is_zero);
}

TEST_CASE("loops of many short items visit every index once") {
    // Items are so short that they are hardly worth a thread. They form many ranges, or few.
    for (const index_t count : {40, 130, 5000, 1 << 20}) {
        INFO(count << " indices");
        CHECK(visits(count, 16) == std::vector<int>(static_cast<std::size_t>(count), 1));
    }
}

TEST_CASE("threads join a loop whose first items are much shorter than the others") {
    std::set<std::thread::id> ids;
    std::mutex mutex;
    parallel_for(1000, 8, [&](index_t i, int) {
        if (i < 900) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        const std::lock_guard lock(mutex);
        ids.insert(std::this_thread::get_id());
    });
    CHECK(ids.size() > 4);  // several threads run; alone, the caller would take 300 ms
}

TEST_CASE("nested loops and concurrent callers end, and visit every index") {
    std::atomic<index_t> sum{0};
    {
        std::vector<std::jthread> callers;
        callers.reserve(5);
        for (int c = 0; c < 5; ++c)
            callers.emplace_back([&] {
                for (int repeat = 0; repeat < 50; ++repeat)
                    parallel_for(6, 3, [&](index_t i, int) {
                        parallel_for(10, 4, [&](index_t j, int) { sum += 10 * i + j; });
                    });
            });
    }
    CHECK(sum == index_t{5 * 50} * (59 * 60 / 2));
}

TEST_CASE("the first exception reaches the caller, and later indices are skipped") {
    for (const int threads : {1, 4}) {
        std::atomic<index_t> done{0};
        const auto run = [&] {
            parallel_for(1'000'000, threads, [&](index_t i, int) {
                if (i == 100) throw std::runtime_error("at 100");
                ++done;
            });
        };
        CHECK_THROWS_WITH(run(), "at 100");
        CHECK(done < 1'000'000);
        CHECK(visits(100, threads) == std::vector<int>(100, 1));  // the team still works
    }
}

#ifndef _WIN32  // Windows has no forks
TEST_CASE("a forked process has threads of its own, or computes with one thread") {
#ifdef __SANITIZE_THREAD__
    SKIP("ThreadSanitizer allows no threads in a forked process");
#endif
    REQUIRE(threads_of_long_items() == 2);
    const std::size_t threads_of_child = thread_backend() == std::string("openmp") ? 1 : 2;
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);  // ends a child that waits for threads of its parent
        const bool works = visits(100, 4) == std::vector<int>(100, 1);
        _exit(works && threads_of_long_items() == threads_of_child ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}
#endif

TEST_CASE("0 threads means one for each processor, or the number in the environment") {
    CHECK(thread_count(3) == 3);
    CHECK(thread_count(0) >= 1);
    CHECK(thread_count(0) <= most_threads);
}
