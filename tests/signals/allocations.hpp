// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts what a program allocates by operator new, which allocations.cpp replaces.

#include <atomic>

namespace convolume::testing {

/// Number of allocations of all threads so far.
extern std::atomic<long> allocations;

}  // namespace convolume::testing
