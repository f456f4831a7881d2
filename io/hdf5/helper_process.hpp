// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helper processes: forked copies of this process for work that a damaged file may make crash or
// hang. This process is then unharmed.

#include <functional>
#include <string>

#include "convolume/image_view.hpp"

namespace convolume::io {

/// Tells whether contain_damage() has enabled helper processes.
bool damage_is_contained();

struct HelperLimits {
    double processor_s;  ///< processor time in seconds, after which the helper process is ended
    /// Bytes of memory that the helper process may take in addition to this process's
    index_t bytes;
};

/// Runs `work`, which reads the file `path`, in a helper process. Throws the exception of `work`,
/// and BadData if the helper process crashes or exceeds its limits. Its changes of memory are lost,
/// except in SharedMemory. The helper process calls `begin` first, to renew locks that other
/// threads may hold. Returns false if no process can be created, or if it waits for half a minute.
/// Nothing is then known about the file.
///
/// The caller holds all locks that `work` takes: a thread that holds one does not exist in the
/// helper.
bool run_in_helper(const std::string& path, const HelperLimits& limits,
                   const std::function<void()>& begin, const std::function<void()>& work);

/// Extends the limits of a helper process that calls this, since the file links to another one.
/// Does nothing in other processes.
void extend_helper_limits(const HelperLimits& more);

/// Memory that this process shares with helper processes that start later.
class SharedMemory {
  public:
    /// Allocates the memory. Throws OutOfMemory.
    explicit SharedMemory(index_t bytes);
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    void* data() const { return data_; }

  private:
    void* data_;
    index_t bytes_;
};

}  // namespace convolume::io
