// SPDX-License-Identifier: Apache-2.0
#pragma once
// Includes Catch2 2 or 3: Debian 12 ships 2.13, Ubuntu 24.04 ships 3.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
#else
#include <catch2/catch.hpp>
inline auto ContainsSubstring(const std::string& text) {
    return Catch::Contains(text);
}
#endif

// SKIP(reason) ends a test case that cannot run here. main.cpp prints the reasons, and ends a
// program with 77 if all its cases were skipped. Catch2 has its own SKIP since 3.3.
#ifdef SKIP
#define CONVOLUME_CATCH_SKIPS 1
#else
#define CONVOLUME_CATCH_SKIPS 0
namespace convolume::testing {
void note_skip(const std::string& reason);
}
#define SKIP(reason)                                                                    \
    do {                                                                                \
        convolume::testing::note_skip((Catch::ReusableStringStream() << reason).str()); \
        return;                                                                         \
    } while (false)
#endif
