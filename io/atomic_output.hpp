// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file that gets its name only when it is complete.

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "convolume/shape.hpp"

namespace convolume::io {

/// Writes to .<name>.partial-<place>-<pid>-<n> beside the target; commit()
/// renames it, the destructor and remove_uncommitted_outputs() remove it. The target is never
/// touched before.
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
    /// The folder of both.
    std::string folder() const;

    /// Takes the space of bytes that will be written there, where the file system can, so that a
    /// full disk is known before. Throws IoError where it is full.
    void reserve(index_t offset, index_t bytes);

    /// May be called by several threads at once. Throws IoError that names the space left when the
    /// system does not write.
    void write(index_t offset, const void* data, index_t bytes);

    /// For writers that use the temporary path themselves: so many bytes more were written. From
    /// time to time a thread of its own tells the system to begin to move them to disk, so that
    /// commit() has not to wait for all of them.
    void count_written(index_t bytes);

    /// Everything on disk, then the final name. Throws IoError or OutputExists.
    void commit();

    /// "writing X failed: no space …", for writers that use the temporary path themselves.
    std::string failure(const std::string& reason) const;

  private:
    void begin_writeback();
    void end_writeback();

    std::string target_;
    std::string temporary_;
    bool overwrite_;
    index_t expected_bytes_;
    int descriptor_ = -1;
    int slot_ = -1;
    std::mutex write_mutex_;
    std::mutex writeback_mutex_;  ///< of what follows
    std::condition_variable writeback_due_;
    index_t written_bytes_ = 0;
    index_t begun_bytes_ = 0;  ///< whose way to disk has begun
    bool ends_ = false;
    std::thread writeback_;
};

}  // namespace convolume::io
