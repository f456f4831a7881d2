// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <thread>

#include "convolume/error.hpp"
#include "core/stop_scope.hpp"
#include "core/threads.hpp"
#include "tests/catch.hpp"

using namespace convolume;

TEST_CASE("a stop ends loops with any number of threads") {
    for (const int threads : {1, 2, 4}) {
        std::stop_source source;
        const StopScope scope(source.get_token());
        std::atomic<int> done{0};
        constexpr index_t count = 6400;
        CHECK_THROWS_AS(parallel_for(count, threads,
                                     [&](index_t, int) {
                                         if (++done == 10) source.request_stop();
                                         std::this_thread::sleep_for(std::chrono::microseconds(1));
                                     }),
                        Cancelled);
        INFO(threads << " threads did " << done);
        CHECK(done < count / 2);
    }
}

TEST_CASE("a stop ends loops nested in a loop, and the functions they call") {
    std::stop_source source;
    const StopScope scope(source.get_token());
    std::atomic<int> inner{0}, called_back{0};
    CHECK_THROWS_AS(parallel_for(4, 4,
                                 [&](index_t, int) {
                                     source.request_stop();
                                     try {
                                         throw_if_stopped();
                                     } catch (const Cancelled&) {
                                         ++called_back;
                                     }
                                     parallel_for(1000, 2, [&](index_t, int) { ++inner; });
                                 }),
                    Cancelled);
    CHECK(called_back >= 1);
    CHECK(inner == 0);
}

TEST_CASE("nested scopes both stop loops, and end with their C++ blocks") {
    std::stop_source outer, inner;
    {
        const StopScope around(outer.get_token());
        {
            const StopScope within(inner.get_token());
            CHECK_NOTHROW(throw_if_stopped());
            outer.request_stop();
            CHECK_THROWS_AS(throw_if_stopped(), Cancelled);
        }
        CHECK_THROWS_AS(throw_if_stopped(), Cancelled);
    }
    CHECK_NOTHROW(throw_if_stopped());
    CHECK(current_stop_scope() == nullptr);
    const StopScope stopped_inside(inner.get_token());
    inner.request_stop();
    CHECK_THROWS_AS(throw_if_stopped(), Cancelled);
}

TEST_CASE("a new thread is in no scope until it adopts one") {
    std::stop_source source;
    const StopScope scope(source.get_token());
    source.request_stop();
    const StopScope* const here = current_stop_scope();
    bool stopped = true, stopped_in_adopted = false;
    std::thread([&] {
        const auto is_stopped = [] {
            try {
                throw_if_stopped();
            } catch (const Cancelled&) {
                return true;
            }
            return false;
        };
        stopped = is_stopped();
        const AdoptedStopScope adopted(here);
        stopped_in_adopted = is_stopped();
    }).join();
    CHECK_FALSE(stopped);
    CHECK(stopped_in_adopted);
}
