// SPDX-License-Identifier: Apache-2.0
// Test cases that pass, fail and are skipped: check_skips.sh runs them to test main.cpp.
#include "tests/catch.hpp"

TEST_CASE("passing", "[passing]") {
    CHECK(1 + 1 == 2);
}

TEST_CASE("failing 77 times", "[failing]") {
    for (int i = 0; i < 77; ++i) CHECK(i < 0);
}

TEST_CASE("failing four times", "[failing4]") {
    for (int i = 0; i < 4; ++i) CHECK(i < 0);
}

TEST_CASE("skipped", "[skipped]") {
    SKIP("there is no device " << 5);
}

TEST_CASE("partly skipped", "[sections]") {
    SECTION("runs") {
        CHECK(1 + 1 == 2);
    }
    SECTION("does not") {
        SKIP("nor is there a second one");
    }
}
