// SPDX-License-Identifier: Apache-2.0
#include "cpu/fftw.hpp"
#include "cpu/signals/cpu_filter_engine.hpp"
#include "tests/catch.hpp"
#include "tests/support/filter_conformance.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

TEST_CASE("the CPU filter engine passes the suite of all filter engines") {
    const std::uint64_t seed = test_seed("cpu filter engine");
    for (const int threads : {1, 3}) {
        CpuFilterEngineOptions options;
        options.threads = threads;
        check_filter_engine(*make_cpu_filter_engine(options),
                            seed + static_cast<std::uint64_t>(threads), 400);
    }
}

TEST_CASE("filters by own transforms pass the suite") {
    CpuFilterEngineOptions options;
    options.threads = 2;
    options.fft = FftLibrary::own;
    check_filter_engine(*make_cpu_filter_engine(options), test_seed("own transforms"), 200);
}

TEST_CASE("filters by FFTW pass the suite") {
    if (!cpu::has_fftw()) SKIP("this build has no FFTW");
    CpuFilterEngineOptions options;
    options.threads = 2;
    options.fft = FftLibrary::fftw;
    check_filter_engine(*make_cpu_filter_engine(options), test_seed("transforms of FFTW"), 200);
}
