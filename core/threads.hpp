// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers of threads that callers ask for.

namespace convolume {

/// More than any machine has.
inline constexpr int most_threads = 4096;

/// Throws InvalidArgument for a number that is neither 0 (all) nor possible.
void check_threads(int threads);

/// Threads for a number asked for; 0 means the first number in the environment variable
/// OMP_NUM_THREADS, or else the processors that this process may run on. Throws like check_threads.
int thread_count(int threads);

}  // namespace convolume
