// SPDX-License-Identifier: Apache-2.0
#pragma once
// The host's memory: how much of it this process may still take, and how its pages are locked.

#include <cstddef>
#include <filesystem>
#include <string>

#include "convolume/shape.hpp"

namespace convolume {

/// The smallest of all limits on the memory of this process.
struct HostMemoryLimit {
    index_t available_bytes;  ///< what may still be taken, not less than 0
    std::string rule;         ///< what sets the limit, such as "memory.max of /sys/fs/cgroup/batch"
};

/// Compares what the system has available, the limits of the process (RLIMIT_AS, RLIMIT_DATA), and
/// those of its control group and all groups above (version 1 or 2, less what the groups use,
/// without file caches that can be dropped). Files below `root` are read, for tests; what is absent
/// sets no limit.
HostMemoryLimit host_memory_limit(const std::filesystem::path& root = "/");

/// host_memory_limit().available_bytes, as it was at most 20 ms ago.
index_t available_host_bytes();

/// How pages are locked: the GPU back end says so when it starts.
struct PageLocker {
    bool (*lock)(void* data, std::size_t bytes);
    void (*unlock)(void* data);
};
void set_page_locker(const PageLocker* locker);  ///< kept by reference

}  // namespace convolume
