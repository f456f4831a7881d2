// SPDX-License-Identifier: Apache-2.0
#include "cli/process/command.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/app.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

constexpr const char* own_path = "CONVOLUME_COMMAND";

}  // namespace

void run_python_program(std::string name, std::vector<std::string> arguments) {
    std::error_code unknown;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unknown);
    if (!unknown) setenv(own_path, self.c_str(), 1);
    std::vector<char*> argv{name.data()};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execvp(name.c_str(), argv.data());
    const int why = errno;
    unsetenv(own_path);
    if (why == ENOENT)
        throw Unavailable(message(name,
                                  " is not on the PATH; it comes with the Python package: pip "
                                  "install 'convolume[zarr]'"));
    throw Unavailable(message(name, " cannot be started: ", std::strerror(why)));
}

bool started_by_python_program() {
    return std::getenv(own_path) != nullptr;
}

void add_process_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "process",
        "Convolves or deconvolves images larger than a machine, block by block, into OME-Zarr");
    // All that follows is for the other program, --help too.
    command->set_help_flag();
    command->prefix_command();
    command->callback([command, &action] {
        action = [arguments = command->remaining()] {
            run_python_program("convolume-process", arguments);
        };
    });
}

}  // namespace convolume::cli
