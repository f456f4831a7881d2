// SPDX-License-Identifier: Apache-2.0
#pragma once
// Jobs shared by a few threads of their own. The team of core/threads.hpp does not fit: jobs
// wait for disks, and for each other where two need one chunk.

#include <functional>

#include "convolume/shape.hpp"

namespace convolume::io {

/// Threads for `bytes` to be moved or coded in `jobs` jobs: one for each `bytes_a_thread`, at most
/// 8 and at most as many as the machine has.
int job_threads(index_t jobs, index_t bytes, index_t bytes_a_thread);

/// Calls job(0) … job(count - 1), begun in this order, by up to `threads` threads. The first
/// exception ends it and is thrown.
void run_jobs(index_t count, int threads, const std::function<void(index_t)>& job);

}  // namespace convolume::io
