// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work that a damaged file may make crash or hang, in a forked copy of the process: there it can do
// no harm.

#include <functional>
#include <string>

#include "convolume/image_view.hpp"

namespace convolume::io {

/// Whether contain_damage() was asked for.
bool damage_is_contained();

struct HelperLimits {
    double processor_s;  ///< a helper that needs more is ended
    index_t bytes;       ///< of memory that it may take beside what the process has
};

/// Does `work`, which reads the file `path`, in a helper process. Throws what it throws, and
/// BadData where it crashes or exceeds its limits. What it changes in memory is lost, but for
/// SharedMemory. `begin` is called first in the helper, to renew locks that other threads may hold.
/// Returns false where the system has no room for a process, or the helper waits for something for
/// half a minute: then nothing is known about the file.
///
/// The caller holds all locks that `work` takes, so that none is held by a thread that the helper
/// does not have.
bool run_in_helper(const std::string& path, const HelperLimits& limits,
                   const std::function<void()>& begin, const std::function<void()>& work);

/// In a helper process, adds to its limits: the file leads to another one. Does nothing elsewhere.
void extend_helper_limits(const HelperLimits& more);

/// Memory of this process and of helpers that begin after it.
class SharedMemory {
  public:
    /// Throws OutOfMemory.
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
