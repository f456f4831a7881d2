// SPDX-License-Identifier: Apache-2.0
// The engine that other tests plan and convolve with passes the suite of all engines.

#include "tests/catch.hpp"
#include "tests/support/engine_conformance.hpp"
#include "tests/support/reference_engine.hpp"

TEST_CASE("the reference engine conforms") {
    using namespace convolume::testing;
    check_engine_results(std::make_shared<ReferenceEngine>());
}
