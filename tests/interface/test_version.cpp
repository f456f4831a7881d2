// SPDX-License-Identifier: Apache-2.0
// Checks that headers and library have the version of the CMake project.

#include <string>

#include "convolume/error.hpp"
#include "convolume/version.hpp"
#include "tests/catch.hpp"

TEST_CASE("headers and library have the project's version") {
    const std::string project = CONVOLUME_PROJECT_VERSION;
    CHECK(std::string(CONVOLUME_VERSION) == project);
    CHECK(std::string(convolume::version()) == project);
    CHECK(convolume::message(CONVOLUME_VERSION_MAJOR, ".", CONVOLUME_VERSION_MINOR, ".",
                             CONVOLUME_VERSION_PATCH) == project);
}

// The macros let programs choose by version at compile time.
#if CONVOLUME_VERSION_MAJOR < 0 || CONVOLUME_VERSION_MINOR < 0 || CONVOLUME_VERSION_PATCH < 0
#error "the version's macros are no numbers"
#endif
