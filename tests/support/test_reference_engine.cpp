// SPDX-License-Identifier: Apache-2.0
// Runs the conformance suite of all engines on the engine that other tests plan with.

#include "tests/catch.hpp"
#include "tests/support/engine_conformance.hpp"
#include "tests/support/reference_engine.hpp"

TEST_CASE("the reference engine passes the suite of all engines") {
    using namespace convolume::testing;
    check_engine_results(std::make_shared<ReferenceEngine>());
}
