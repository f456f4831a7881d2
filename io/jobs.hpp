// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops whose iterations (jobs) are shared by threads of their own. The thread team of
// core/threads.hpp does not fit: jobs wait for disks, and for each other if two need one HDF5
// chunk.

#include <functional>

#include "convolume/shape.hpp"

namespace convolume::io {

/// Returns the number of threads that pays for `bytes` bytes in `jobs` jobs. It is one for each
/// `bytes_a_thread`, but at most 8, and at most one for each processor.
int job_threads(index_t jobs, index_t bytes, index_t bytes_a_thread);

/// Calls job(0) … job(count - 1), started in this order, on up to `threads` threads. The first
/// exception ends the loop and is rethrown.
void run_jobs(index_t count, int threads, const std::function<void(index_t)>& job);

}  // namespace convolume::io
