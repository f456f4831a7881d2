// SPDX-License-Identifier: Apache-2.0
// Runs the conformance suite of all engines on the CPU engine, with one thread and with several.

#include "cpu/fftw.hpp"
#include "cpu/volumes/cpu_engine.hpp"
#include "tests/catch.hpp"
#include "tests/support/engine_conformance.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {
EnginePointer engine_of(int threads, FftLibrary fft = FftLibrary::automatic) {
    return make_cpu_engine({"cpu:0", 0, threads, 0, {}, fft});
}
}  // namespace

TEST_CASE("CPU engine: results with one thread agree with the oracle") {
    check_engine_results(engine_of(1));
}
TEST_CASE("CPU engine: results with three threads agree with the oracle") {
    check_engine_results(engine_of(3), 150);
}
TEST_CASE("CPU engine: results of own transforms agree with the oracle") {
    check_engine_results(engine_of(2, FftLibrary::own), 100);
}
TEST_CASE("CPU engine: results of FFTW agree with the oracle") {
    if (!cpu::has_fftw()) SKIP("this build has no FFTW");
    check_engine_results(engine_of(2, FftLibrary::fftw), 100);
}
TEST_CASE("CPU engine: every pixel type is read and written") {
    check_engine_pixel_types(engine_of(2));
}
TEST_CASE("CPU engine: the result may replace its source") {
    check_engine_in_place(engine_of(2));
}
TEST_CASE("CPU engine: memory stays within the estimate") {
    check_engine_memory(engine_of(2));
}
TEST_CASE("CPU engine: several threads may use one kernel") {
    check_engine_concurrency(engine_of(2));
}
TEST_CASE("CPU engine: a requested stop ends a convolution") {
    check_engine_cancellation(engine_of(2));
}
