// SPDX-License-Identifier: Apache-2.0
#pragma once
// A process that reads many HDF5 files, one after another, and does in place what the command has a
// helper process do for each (io/hdf5/helper_process.hpp): forks take most of the time of small
// files. Where a file ends it, another such process goes on with the next file.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace convolume::testing {

class ReadingProcess {
  public:
    enum class Outcome {
        done,       ///< read, or refused
        contained,  ///< it crashed, or took too long, where the command has a helper process
        unknown     ///< it did so elsewhere, or the file is too large
    };

    ReadingProcess();
    ~ReadingProcess();
    ReadingProcess(const ReadingProcess&) = delete;
    ReadingProcess& operator=(const ReadingProcess&) = delete;

    /// Reads a file of these bytes. libFuzzer's counters become those of the process.
    Outcome read(const std::uint8_t* data, std::size_t size);

  private:
    struct Shared;

    void start_keeper();
    void end_keeper();
    [[noreturn]] void keep_readers();
    [[noreturn]] void be_reader();
    bool ask();

    Shared* shared_;
    int requests_[2] = {-1, -1};
    int replies_[2] = {-1, -1};
    pid_t keeper_ = -1;  ///< forks readers, one after another, and sees how they end
};

}  // namespace convolume::testing
