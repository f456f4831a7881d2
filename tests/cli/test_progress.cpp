// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "cli/run/progress.hpp"
#include "cli/text/quantity.hpp"
#include "tests/catch.hpp"

using namespace convolume;
using namespace convolume::cli;

namespace {

struct FakeClock {
    double now_s = 100;
    std::function<double()> function() {
        return [this] { return now_s; };
    }
};

}  // namespace

TEST_CASE("a terminal gets one line of progress that is updated and cleared") {
    std::ostringstream out;
    FakeClock clock;
    {
        ProgressMeter meter(out, ProgressMeter::LineStyle::terminal, 8e6, clock.function());
        clock.now_s += 2;
        meter.update(0.25);
        CHECK(out.str() == "\r 25 %, 1.0 Mvoxel/s, 6.00 s left\033[K");
        clock.now_s += 0.01;
        meter.update(0.5);  // too soon after the previous line to print another
        CHECK(out.str() == "\r 25 %, 1.0 Mvoxel/s, 6.00 s left\033[K");
    }
    CHECK(out.str() == "\r 25 %, 1.0 Mvoxel/s, 6.00 s left\033[K\r\033[K");
}

TEST_CASE("without a terminal there is a plain line every ten seconds") {
    std::ostringstream out;
    FakeClock clock;
    ProgressMeter meter(out, ProgressMeter::LineStyle::plain, 1e9, clock.function());
    clock.now_s += 9;
    meter.update(0.1);
    CHECK(out.str().empty());
    clock.now_s += 1;
    meter.update(0.5);
    clock.now_s += 5;
    meter.update(0.7);
    CHECK(out.str() == "progress  50 %, 50.0 Mvoxel/s, 10.0 s left\n");
}

TEST_CASE("a note is at the end of the line") {
    std::ostringstream out;
    FakeClock clock;
    ProgressMeter meter(out, ProgressMeter::LineStyle::plain, 1e9, clock.function());
    meter.note("iteration 3 of 6");
    clock.now_s += 10;
    meter.update(0.5);
    CHECK(out.str() == "progress  50 %, 50.0 Mvoxel/s, 10.0 s left, iteration 3 of 6\n");
}

TEST_CASE("a quiet run has no progress") {
    std::ostringstream out;
    FakeClock clock;
    ProgressMeter meter(out, ProgressMeter::LineStyle::none, 1e9, clock.function());
    clock.now_s += 60;
    meter.update(0.5);
    CHECK(out.str().empty());
}

TEST_CASE("durations and voxel sizes are readable") {
    CHECK(format_duration(0.0341) == "0.034 s");
    CHECK(format_duration(12.34) == "12.3 s");
    CHECK(format_duration(200) == "3 min 20 s");
    CHECK(format_duration(7500) == "2 h 5 min");
    CHECK(format_voxel_size({0.2, std::nullopt, 0.1}) == "voxel z,y,x 0.2×?×0.1 µm");
    CHECK(format_voxel_size({}) == "voxel size unknown");
    CHECK(format_number(500193.6, 9) == "500193.6");
}
