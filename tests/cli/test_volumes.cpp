// SPDX-License-Identifier: Apache-2.0
// Tests items that are read and written during the computation: results and errors equal those of
// one item at a time.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cli/files/volumes.hpp"
#include "tests/catch.hpp"

using namespace convolume;
using namespace convolume::cli;
using namespace std::chrono_literals;

namespace {

std::string failure_of(index_t count, bool overlapped, const ItemSteps& steps) {
    try {
        run_item_steps(count, overlapped, steps);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "none";
}

/// Moves 9 items through two inputs and two outputs; each failure is "step item".
struct RecordedSteps {
    static constexpr index_t count = 9;
    std::vector<std::string> failures;
    int inputs[2]{}, outputs[2]{};
    std::vector<int> written;
    std::atomic<index_t> last_read{-1}, last_computed{-1}, last_written{-1};
    std::atomic<bool> in_order{true};
    index_t slots;

    explicit RecordedSteps(bool overlapped) : slots(overlapped ? 2 : 1) {}

    void step(const char* name, index_t item, std::atomic<index_t>& last) {
        if (last.exchange(item) != item - 1) in_order = false;
        const std::string place = std::string(name) + ' ' + std::to_string(item);
        if (std::find(failures.begin(), failures.end(), place) != failures.end())
            throw std::runtime_error(place);
    }
    ItemSteps steps() {
        return {[this](index_t item) {
                    step("read", item, last_read);
                    inputs[item % slots] = static_cast<int>(item);
                },
                [this](index_t item) {
                    if (item % 3 == 0) std::this_thread::sleep_for(2ms);
                    step("compute", item, last_computed);
                    outputs[item % slots] = 10 * inputs[item % slots];
                },
                [this](index_t item) {
                    if (item % 4 == 1) std::this_thread::sleep_for(3ms);
                    step("write", item, last_written);
                    written.push_back(outputs[item % slots]);
                }};
    }
};

}  // namespace

TEST_CASE("every item is read, computed and written once, in order") {
    for (const bool overlapped : {false, true})
        for (int repeat = 0; repeat < 20; ++repeat) {
            RecordedSteps run(overlapped);
            CHECK(failure_of(RecordedSteps::count, overlapped, run.steps()) == "none");
            CHECK(run.in_order);
            CHECK(run.written == std::vector<int>{0, 10, 20, 30, 40, 50, 60, 70, 80});
        }
    for (const index_t count : {0, 1}) {
        RecordedSteps run(true);
        CHECK(failure_of(count, true, run.steps()) == "none");
        CHECK(run.written == std::vector<int>(static_cast<std::size_t>(count), 0));
    }
}

TEST_CASE("the first error is that of one item at a time, and items before it are written") {
    const std::vector<std::string> names{"read", "compute", "write"};
    for (index_t item = 0; item < RecordedSteps::count; ++item)
        for (std::size_t step = 0; step < 3; ++step) {
            const std::string first = names[step] + ' ' + std::to_string(item);
            for (const bool overlapped : {false, true}) {
                RecordedSteps run(overlapped);
                run.failures = {first, names[(step + 1) % 3] + ' ' + std::to_string(item + 1),
                                "read " + std::to_string(item + 1)};
                CHECK(failure_of(RecordedSteps::count, overlapped, run.steps()) == first);
                CHECK(static_cast<index_t>(run.written.size()) == item);
                CHECK(run.last_read <= item + 2);
                CHECK(run.last_computed <= item + 2);
            }
        }
}

TEST_CASE("reading, computing and writing overlap") {
    std::atomic<int> busy{0}, most{0};
    const auto work = [&](index_t) {
        const int now = ++busy;
        for (int known = most; known < now && !most.compare_exchange_weak(known, now);) {
        }
        std::this_thread::sleep_for(30ms);
        --busy;
    };
    run_item_steps(6, true, {work, work, work});
    CHECK(most == 3);
    most = 0;
    run_item_steps(3, false, {work, work, work});
    CHECK(most == 1);
    // Steps may be left out.
    int written = 0;
    run_item_steps(5, true, {{}, {}, [&](index_t) { ++written; }});
    CHECK(written == 5);
}
