// SPDX-License-Identifier: Apache-2.0
// The CPU engine passes the suite of all engines, with one thread and with several.

#include "cpu/volumes/cpu_engine.hpp"
#include "tests/catch.hpp"
#include "tests/support/engine_conformance.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {
EnginePointer engine_of(int threads) {
    return make_cpu_engine({"cpu:0", 0, threads, 0, {}});
}
}  // namespace

TEST_CASE("CPU engine: results with one thread") {
    check_engine_results(engine_of(1));
}
TEST_CASE("CPU engine: results with three threads") {
    check_engine_results(engine_of(3), 150);
}
TEST_CASE("CPU engine: pixel types") {
    check_engine_pixel_types(engine_of(2));
}
TEST_CASE("CPU engine: in place") {
    check_engine_in_place(engine_of(2));
}
TEST_CASE("CPU engine: memory") {
    check_engine_memory(engine_of(2));
}
TEST_CASE("CPU engine: concurrency") {
    check_engine_concurrency(engine_of(2));
}
TEST_CASE("CPU engine: cancellation") {
    check_engine_cancellation(engine_of(2));
}
