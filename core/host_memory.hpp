// SPDX-License-Identifier: Apache-2.0
#pragma once
// Host memory: how much this process may still take, and how its pages are locked.

#include <cstddef>
#include <filesystem>
#include <string>

#include "convolume/shape.hpp"

namespace convolume {

/// Host memory that this process may still take, by the lowest of all limits on it.
struct AvailableHostMemory {
    index_t available_bytes;  ///< bytes that may still be taken, at least 0
    std::string rule;  ///< origin of the lowest limit, such as "memory.max of /sys/fs/cgroup/batch"
};

/// Returns the lowest of the system's available memory, the process limits (RLIMIT_AS,
/// RLIMIT_DATA), and the limits of its control group and all groups above (version 1 or 2). Usage
/// counts against limits, except file caches that can be dropped. Files are read below `root`,
/// which tests set. An absent file sets no limit.
AvailableHostMemory available_host_memory(const std::filesystem::path& root = "/");

/// Returns available_host_memory().available_bytes, at most 20 ms old.
index_t available_host_bytes();

/// Functions that lock and unlock pages of memory; the GPU back end provides them when it starts.
struct PageLocker {
    bool (*lock)(void* data, std::size_t bytes);
    void (*unlock)(void* data);
};
void set_page_locker(const PageLocker* locker);  ///< `locker` is kept by reference

}  // namespace convolume
