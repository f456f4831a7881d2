// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/command.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/catch.hpp"

extern char** environ;

namespace convolume::testing {

namespace fs = std::filesystem;

Process::Process(const Arguments& command, const std::string& folder) {
    std::vector<char*> arguments;
    for (const std::string& argument : command)
        arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, (streams_ / "out").c_str(), flags, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, (streams_ / "err").c_str(), flags, 0600);
    posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    // A test run in the background has SIGINT ignored, and children would inherit that.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t defaults;
    sigemptyset(&defaults);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&defaults, number);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    const int error =
        posix_spawnp(&pid_, arguments[0], &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::runtime_error("cannot start " + command.front());
}

Process::~Process() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
}

void Process::signal(int number) const {
    kill(pid_, number);
}

std::string Process::err() const {
    return read_text(streams_ / "err");
}

CommandResult Process::wait() {
    int status = 0;
    if (waitpid(pid_, &status, 0) != pid_) throw std::runtime_error("waitpid failed");
    pid_ = -1;
    CommandResult result;
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    result.out = read_text(streams_ / "out");
    result.err = read_text(streams_ / "err");
    return result;
}

CommandResult run_program(const Arguments& command, const TemporaryFolder& folder) {
    return Process(command, folder.path()).wait();
}

CommandResult convolume(const Arguments& arguments, const TemporaryFolder& folder) {
    Arguments command{convolume_path()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_program(command, folder);
}

CommandResult succeed(const Arguments& arguments, const TemporaryFolder& folder) {
    const CommandResult result = convolume(arguments, folder);
    INFO(arguments[0] << ": " << result.err);
    REQUIRE(result.status == 0);
    return result;
}

std::string convolume_path() {
    return CONVOLUME_COMMAND;
}

void write_text(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace convolume::testing
