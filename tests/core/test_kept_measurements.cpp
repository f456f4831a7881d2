// SPDX-License-Identifier: Apache-2.0
// Tests that measurements are made once, in a process and on a machine.

#include <filesystem>
#include <fstream>
#include <string>

#include "core/kept_measurements.hpp"
#include "tests/catch.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace convolume;
using convolume::testing::TemporaryFolder;

namespace {

const std::string machine = "a processor, 4 threads";

// Counts how often it is called, and returns two rates.
struct Measurement {
    int* calls;
    double rate;
    KeptMeasurements::Values operator()() const {
        ++*calls;
        return {rate, 2 * rate};
    }
};

}  // namespace

TEST_CASE("a measurement is kept in the process and for later processes") {
    const TemporaryFolder folder;
    const auto file = folder / "cache/rates.json";
    int calls = 0;
    KeptMeasurements first(file, machine);
    CHECK(first.find_or_measure("link", 2, Measurement{&calls, 7.5}) ==
          KeptMeasurements::Values{7.5, 15});
    CHECK(first.find_or_measure("link", 2, Measurement{&calls, 1}).front() == 7.5);
    CHECK(calls == 1);

    KeptMeasurements later(file, machine);
    CHECK(later.find_or_measure("link", 2, Measurement{&calls, 1}).front() == 7.5);
    CHECK(calls == 1);
    CHECK(later.find_or_measure("other link", 2, Measurement{&calls, 3}).front() == 3);
    CHECK(calls == 2);
    // The first object's next save keeps what the second one has added.
    first.find_or_measure("third link", 2, Measurement{&calls, 4});
    KeptMeasurements last(file, machine);
    CHECK(last.find_or_measure("other link", 2, Measurement{&calls, 1}).front() == 3);
    CHECK(last.find_or_measure("third link", 2, Measurement{&calls, 1}).front() == 4);
    CHECK(calls == 3);
}

TEST_CASE("a measurement replaces the kept one if it differs by more than a quarter") {
    const TemporaryFolder folder;
    const auto file = folder / "rates.json";
    KeptMeasurements starts(file, machine);
    CHECK_FALSE(starts.find("start"));
    starts.keep("start", {0.5});
    starts.keep("start", {0.6});
    CHECK(starts.find("start") == KeptMeasurements::Values{0.5});
    starts.keep("start", {0.7});
    CHECK(starts.find("start") == KeptMeasurements::Values{0.7});
    CHECK(KeptMeasurements(file, machine).find("start") == KeptMeasurements::Values{0.7});
    CHECK_FALSE(KeptMeasurements(file, "another processor").find("start"));
}

TEST_CASE("measurements of another machine, damaged ones and implausible ones are made again") {
    const TemporaryFolder folder;
    const auto file = folder / "rates.json";
    int calls = 0;
    KeptMeasurements(file, machine).find_or_measure("link", 2, Measurement{&calls, 7.5});
    KeptMeasurements other(file, "another processor");
    CHECK(other.find_or_measure("link", 2, Measurement{&calls, 1}).front() == 1);
    CHECK(calls == 2);

    for (const char* text :
         {"{", "[]", R"({"machine": "a processor, 4 threads"})",
          R"({"machine": "a processor, 4 threads", "measured": {"link": [0, 1]}})",
          R"({"machine": "a processor, 4 threads", "measured": {"link": [1]}})"}) {
        INFO(text);
        std::ofstream(file) << text;
        const int before = calls;
        KeptMeasurements damaged(file, machine);
        CHECK(damaged.find_or_measure("link", 2, Measurement{&calls, 5}).front() == 5);
        CHECK(calls == before + 1);
    }
    KeptMeasurements without_folder({}, machine);
    without_folder.find_or_measure("link", 2, Measurement{&calls, 5});
    const int before = calls;
    without_folder.find_or_measure("link", 2, Measurement{&calls, 5});
    CHECK(calls == before);
}
