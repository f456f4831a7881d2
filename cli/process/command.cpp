// SPDX-License-Identifier: Apache-2.0
// "convolume process" is a part of the Python package: this runs its command, convolume-process.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

constexpr const char* program = "convolume-process";

// Returns only by an exception.
void run_program(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execvp(program, argv.data());
    if (errno == ENOENT)
        throw Unavailable(
            "convolume-process is not on the PATH; it comes with the Python package: pip install "
            "'convolume[zarr]'");
    throw Unavailable(message("convolume-process cannot be started: ", std::strerror(errno)));
}

}  // namespace

void add_process_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "process",
        "Convolves or deconvolves images larger than a machine, block by block, into OME-Zarr");
    // All that follows is for the other program, --help too.
    command->set_help_flag();
    command->prefix_command();
    command->callback([command, &action] {
        action = [arguments = command->remaining()] { run_program(arguments); };
    });
}

}  // namespace convolume::cli
