// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the built command as a user would: its own process, its own folder.

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace convolume::testing {

/// A new folder that disappears with its content.
class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    std::string path() const { return path_.string(); }
    std::string operator/(const std::string& name) const { return (path_ / name).string(); }
    /// Names in the folder, sorted.
    std::vector<std::string> names() const;

  private:
    std::filesystem::path path_;
};

struct CommandResult {
    int status = 0;  ///< exit code; minus the signal that ended it
    std::string out;
    std::string err;
};

using Arguments = std::vector<std::string>;

/// A process that runs in `folder`; what it prints is collected outside of it.
class Process {
  public:
    Process(const Arguments& command, const std::string& folder);
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void signal(int number) const;
    /// Standard error so far.
    std::string err() const;
    CommandResult wait();

  private:
    TemporaryFolder streams_;
    pid_t pid_ = -1;
};

/// `convolume ARGUMENTS` in `folder`.
CommandResult convolume(const Arguments& arguments, const TemporaryFolder& folder);

/// Any other program, found along PATH.
CommandResult run_program(const Arguments& command, const TemporaryFolder& folder);

/// The command's path, for tests that start it by other means.
std::string convolume_path();

void write_text(const std::string& path, const std::string& text);
std::string read_text(const std::string& path);

}  // namespace convolume::testing
