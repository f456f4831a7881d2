// SPDX-License-Identifier: Apache-2.0
#pragma once
// Catch2 of either generation: Debian 12 ships 2.13, Ubuntu 24.04 ships 3.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

// Ends a test case that cannot run here, with the reason in the log.
#ifndef SKIP
#define SKIP(reason)                 \
    do {                             \
        WARN("SKIPPED: " << reason); \
        return;                      \
    } while (false)
#endif
