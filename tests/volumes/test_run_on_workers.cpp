// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "convolume/error.hpp"
#include "tests/catch.hpp"
#include "volumes/plan_runner.hpp"

using namespace convolume;
using namespace std::chrono_literals;

TEST_CASE("every task runs once, on one of the workers") {
    for (const int workers : {1, 2, 3, 8})
        for (const int tasks : {0, 1, 2, 7, 100}) {
            INFO(workers << " workers, " << tasks << " tasks");
            std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
            std::atomic<bool> worker_in_range{true};
            run_on_workers(workers, tasks, {}, [&](int worker, int task) {
                if (worker < 0 || worker >= workers) worker_in_range = false;
                ++runs.at(static_cast<std::size_t>(task));
            });
            CHECK(worker_in_range);
            for (const auto& count : runs) CHECK(count == 1);
        }
}

TEST_CASE("a worker has one task at a time, all from one thread") {
    std::mutex mutex;
    std::vector<std::set<std::thread::id>> threads(3);
    std::vector<int> running(3);
    bool overlap = false;
    run_on_workers(3, 30, {}, [&](int worker, int) {
        const auto e = static_cast<std::size_t>(worker);
        {
            const std::lock_guard lock(mutex);
            threads[e].insert(std::this_thread::get_id());
            overlap |= ++running[e] > 1;
        }
        std::this_thread::sleep_for(1ms);
        const std::lock_guard lock(mutex);
        --running[e];
    });
    CHECK_FALSE(overlap);
    std::set<std::thread::id> all;
    for (const auto& set : threads) {
        CHECK(set.size() == 1);
        all.insert(set.begin(), set.end());
    }
    CHECK(all.size() == 3);
}

TEST_CASE("a slow worker leaves tasks to the others") {
    std::atomic<int> slow{0}, fast{0};
    run_on_workers(2, 40, {}, [&](int worker, int) {
        std::this_thread::sleep_for(worker == 0 ? 60ms : 1ms);
        ++(worker == 0 ? slow : fast);
    });
    CHECK(slow + fast == 40);
    CHECK(slow < 10);
}

TEST_CASE("the first exception stops the rest and reaches the caller") {
    for (const int workers : {1, 2, 4}) {
        std::atomic<int> started{0};
        CHECK_THROWS_AS(run_on_workers(workers, 1000, {},
                                       [&](int, int task) {
                                           ++started;
                                           if (task == 3) throw BadData("task 3");
                                           std::this_thread::sleep_for(1ms);
                                       }),
                        BadData);
        CHECK(started < 100);
    }
    CHECK_THROWS_AS(run_on_workers(2, 2, {}, [](int, int) { throw std::runtime_error("other"); }),
                    std::runtime_error);
}

TEST_CASE("after a stop request, few tasks begin") {
    std::stop_source source;
    ExecutionContext context;
    context.stop = source.get_token();
    std::atomic<int> started{0};
    CHECK_THROWS_AS(run_on_workers(2, 1000, context,
                                   [&](int, int) {
                                       if (++started == 5) source.request_stop();
                                       std::this_thread::sleep_for(1ms);
                                   }),
                    Cancelled);
    CHECK(started < 20);

    started = 0;
    CHECK_THROWS_AS(run_on_workers(2, 10, context, [&](int, int) { ++started; }), Cancelled);
    CHECK(started == 0);
}
