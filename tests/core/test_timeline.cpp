// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/execution.hpp"
#include "tests/catch.hpp"

using namespace convolume;

TEST_CASE("a timeline orders events and sums phases") {
    Timeline timeline;
    timeline.record({Phase::compose, -1, -1, 0.5, 0.75, 100});
    timeline.record({Phase::convolve, 0, 0, 0.0, 0.25, 0});
    timeline.record({Phase::convolve, 1, 1, 0.125, 0.625, 0});
    const auto events = timeline.events();
    REQUIRE(events.size() == 3);
    CHECK(events[0].engine == 0);
    CHECK(events[1].engine == 1);
    CHECK(events[2].phase == Phase::compose);
    CHECK(timeline.total_s(Phase::convolve) == 0.75);
    CHECK(timeline.total_s(Phase::read) == 0);
}

TEST_CASE("a timeline's JSON is a trace of its events") {
    Timeline timeline;
    int n = 0;
    for (const Phase phase : all_phases) {
        timeline.record({phase, n % 3 - 1, n, 0.001 * n, 0.001 * n + 0.0005, 17 * n});
        ++n;
    }
    const auto trace = nlohmann::json::parse(timeline.to_json());
    const auto& events = trace.at("traceEvents");
    int complete = 0;
    for (const auto& event : events) {
        if (event.at("ph") != "X") continue;
        ++complete;
        CHECK(event.at("dur").get<double>() > 490);  // the duration is in microseconds
        CHECK(event.at("dur").get<double>() < 510);
        CHECK(event.contains("ts"));
        CHECK(event.contains("pid"));
        CHECK(event.contains("tid"));
        bool named = false;
        for (const Phase phase : all_phases)
            named |=
                event.at("name").get<std::string>().find(to_string(phase)) != std::string::npos;
        CHECK(named);
    }
    CHECK(complete == n);
    CHECK(nlohmann::json::parse(Timeline().to_json()).at("traceEvents").is_array());
}

TEST_CASE("a timeline knows the time that its events cover") {
    Timeline timeline(2);
    CHECK(timeline.now_s() >= 2);
    CHECK(timeline.total_s(Phase::start) == 2);
    CHECK(timeline.covered_s() == 2);
    timeline.record({Phase::convolve, 0, 0, 3, 5, 0});
    timeline.record({Phase::write, -1, 0, 4, 4.5, 0});
    timeline.record({Phase::write, -1, 0, 4.5, 6, 0});
    CHECK(timeline.covered_s() == 5);
}

TEST_CASE("the uncovered rest of an interval is recorded once") {
    Timeline timeline(8);
    timeline.record({Phase::read, -1, -1, 8.25, 8.5, 0});
    timeline.record_rest(Phase::open, 7);  // counts from second 8 on, without the later read
    CHECK(timeline.total_s(Phase::open) < 0.25);
    Timeline other;
    other.record({Phase::read, -1, -1, 0, 0.5, 0});
    other.record_rest(Phase::open, 0);
    CHECK(other.total_s(Phase::open) == 0);
    CHECK(other.covered_s() == 0.5);
}

TEST_CASE("timers record their lifetime, from many threads at once") {
    Timeline timeline;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&timeline, t] {
            for (int i = 0; i < 250; ++i) PhaseTimer timer(&timeline, Phase::convolve, t, i, 8);
        });
    for (auto& thread : threads) thread.join();
    const auto events = timeline.events();
    REQUIRE(events.size() == 1000);
    for (std::size_t i = 0; i < events.size(); ++i) {
        CHECK(events[i].begin_s <= events[i].end_s);
        if (i > 0) CHECK(events[i - 1].begin_s <= events[i].begin_s);
    }
    PhaseTimer without_timeline(nullptr, Phase::read);
}

TEST_CASE("a requested stop is thrown as Cancelled") {
    CHECK_NOTHROW(throw_if_stopped({}));
    std::stop_source source;
    ExecutionContext context;
    context.stop = source.get_token();
    CHECK_NOTHROW(throw_if_stopped(context));
    source.request_stop();
    CHECK_THROWS_AS(throw_if_stopped(context), Cancelled);
}
