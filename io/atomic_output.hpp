// SPDX-License-Identifier: Apache-2.0
#pragma once
// An output file that gets its final name only when it is complete.

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "convolume/shape.hpp"

namespace convolume::io {

/// Writes to the temporary file .<name>.partial-<machine>-<pid>-<n> beside the target. commit()
/// renames it; the destructor and remove_uncommitted_outputs() remove it.
class AtomicOutput {
  public:
    /// Creates the temporary file. Throws OutputExists if `target` exists and `overwrite` is false,
    /// CannotCreate on failure, IoError if less than `expected_bytes` are free.
    AtomicOutput(const std::string& target, bool overwrite, index_t expected_bytes);
    ~AtomicOutput();
    AtomicOutput(const AtomicOutput&) = delete;
    AtomicOutput& operator=(const AtomicOutput&) = delete;

    const std::string& target() const { return target_; }
    const std::string& temporary() const { return temporary_; }
    /// Returns the folder of the target and of the temporary file.
    std::string folder() const;

    /// Reserves disk space for `bytes` bytes at `offset`, if the file system can. A full disk is
    /// then noticed before the data are computed. Throws IoError if it is full.
    void reserve(index_t offset, index_t bytes);

    /// Writes `bytes` bytes at `offset`. Several threads may call this at once. Throws IoError with
    /// the remaining space if the system fails to write.
    void write(index_t offset, const void* data, index_t bytes);

    /// Counts bytes that a writer wrote through the temporary path. At intervals a thread has the
    /// system start write-back to the disk, so that commit() waits for less.
    void count_written(index_t bytes);

    /// Waits until all data are on the disk, then renames. Throws IoError or OutputExists.
    void commit();

    /// Returns the message "writing X failed: …" with `reason`.
    std::string failure(const std::string& reason) const;

  private:
    void run_writeback();
    void stop_writeback();

    std::string target_;
    std::string temporary_;
    bool overwrite_;
    index_t expected_bytes_;
    int descriptor_ = -1;
    int pending_index_ = -1;
    std::mutex write_mutex_;
    std::mutex writeback_mutex_;  ///< guards the members below
    std::condition_variable writeback_due_;
    index_t written_bytes_ = 0;
    index_t begun_bytes_ = 0;  ///< bytes whose write-back was started
    bool is_stopped_ = false;
    std::thread writeback_thread_;
};

}  // namespace convolume::io
