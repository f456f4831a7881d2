// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file that gets its name only when it is complete.

#include <string>

#include "convolume/shape.hpp"

namespace convolume::io {

/// Writes to .<name>.partial-<pid>-<n> beside the target; commit() renames it, the destructor and
/// remove_uncommitted_outputs() remove it. The target is never touched before.
class AtomicOutput {
  public:
    /// Throws OutputExists when `target` exists and `overwrite` is false, CannotCreate when it
    /// cannot be made, IoError when the file system has less than `expected_bytes` free.
    AtomicOutput(const std::string& target, bool overwrite, index_t expected_bytes);
    ~AtomicOutput();
    AtomicOutput(const AtomicOutput&) = delete;
    AtomicOutput& operator=(const AtomicOutput&) = delete;

    const std::string& target() const { return target_; }
    const std::string& temporary() const { return temporary_; }

    /// Throws IoError that names the space left when the system does not write.
    void write(index_t offset, const void* data, index_t bytes);

    /// Everything on disk, then the final name. Throws IoError or OutputExists.
    void commit();

    /// "writing X failed: no space …", for writers that use the temporary path themselves.
    std::string failure(const std::string& reason) const;

  private:
    std::string target_;
    std::string temporary_;
    bool overwrite_;
    index_t expected_bytes_;
    int descriptor_ = -1;
    int slot_ = -1;
};

}  // namespace convolume::io
