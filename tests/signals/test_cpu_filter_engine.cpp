// SPDX-License-Identifier: Apache-2.0
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
