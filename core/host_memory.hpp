// SPDX-License-Identifier: Apache-2.0
#pragma once
// The host's memory: how much of it this process may still take, and how its pages are locked.

#include <cstddef>

#include "convolume/shape.hpp"

namespace convolume {

/// What the system has left, and the container or batch job that this process may be part of.
index_t available_host_bytes();

/// How pages are locked: the GPU back end says so when it starts.
struct PageLocker {
    bool (*lock)(void* data, std::size_t bytes);
    void (*unlock)(void* data);
};
void set_page_locker(const PageLocker* locker);  ///< kept by reference

}  // namespace convolume
