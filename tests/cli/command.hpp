// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the built command as a user would: in a process and a folder of its own.

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace convolume::testing {

struct CommandResult {
    int status = 0;  ///< exit code, or minus the number of the signal that ended the process
    std::string out;
    std::string err;
};

using Arguments = std::vector<std::string>;

/// A process that runs in `folder`; its output is collected outside of the folder.
class Process {
  public:
    Process(const Arguments& command, const std::string& folder);
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void signal(int number) const;
    /// Returns the standard error so far.
    std::string err() const;
    CommandResult wait();

  private:
    TemporaryFolder streams_;
    pid_t pid_ = -1;
};

/// Runs `convolume ARGUMENTS` in `folder`.
CommandResult convolume(const Arguments& arguments, const TemporaryFolder& folder);

/// Runs `convolume ARGUMENTS` in `folder`, and fails the test case unless the exit code is 0.
CommandResult succeed(const Arguments& arguments, const TemporaryFolder& folder);

/// Runs any other program, found along PATH.
CommandResult run_program(const Arguments& command, const TemporaryFolder& folder);

/// Returns the command's path, for tests that start it by other means.
std::string convolume_path();

void write_text(const std::string& path, const std::string& text);
std::string read_text(const std::string& path);

}  // namespace convolume::testing
