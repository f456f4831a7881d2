// SPDX-License-Identifier: Apache-2.0
#pragma once
// A process that reads many HDF5 files, one after another. It reads itself what the command leaves
// to a helper process for each file (io/hdf5/helper_process.hpp), because forks would take most of
// the time of small files. If a file ends it, another such process continues with the next file.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace convolume::testing {

class ReadingProcess {
  public:
    enum class Outcome {
        done,       ///< the file was read or refused
        contained,  ///< the reader crashed or took too long in code that the command leaves to
                    ///< a helper process
        unknown     ///< the reader crashed in other code, or the file is too large
    };

    ReadingProcess();
    ~ReadingProcess();
    ReadingProcess(const ReadingProcess&) = delete;
    ReadingProcess& operator=(const ReadingProcess&) = delete;

    /// Reads a file with these bytes in the process, and copies the process's coverage counters to
    /// libFuzzer's counters.
    Outcome read(const std::uint8_t* data, std::size_t size);

  private:
    struct Shared;

    void start_keeper();
    void end_keeper();
    [[noreturn]] void keep_readers();
    [[noreturn]] void run_reader();
    bool request_read();

    Shared* shared_;
    int requests_[2] = {-1, -1};
    int replies_[2] = {-1, -1};
    pid_t keeper_ = -1;  ///< process that forks readers and waits for their ends
};

}  // namespace convolume::testing
