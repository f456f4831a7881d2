// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command: its version and its subcommands.

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

/// The subcommands in the order of --help. Each has a folder of its name, where options.cpp or
/// command.cpp defines the function declared below.
#define CONVOLUME_SUBCOMMANDS(SUBCOMMAND) \
    SUBCOMMAND(convolve)                  \
    SUBCOMMAND(deconvolve)                \
    SUBCOMMAND(filter)                    \
    SUBCOMMAND(psf)                       \
    SUBCOMMAND(phantom)                   \
    SUBCOMMAND(simulate)                  \
    SUBCOMMAND(info)                      \
    SUBCOMMAND(preview)                   \
    SUBCOMMAND(project)                   \
    SUBCOMMAND(compare)                   \
    SUBCOMMAND(process)                   \
    SUBCOMMAND(doctor)

namespace convolume::cli {

extern const char* const version;

/// "convolume 1.2.3", as --version prints it and outputs record it.
std::string software_name();

/// Runs the command line; returns the exit code of run/errors.hpp.
int run(int argc, const char* const* argv);

/// What the chosen subcommand does; set while the command line is parsed, run afterwards.
using Action = std::function<void()>;

#define CONVOLUME_DECLARE(name) void add_##name##_command(CLI::App& app, Action& action);
CONVOLUME_SUBCOMMANDS(CONVOLUME_DECLARE)
#undef CONVOLUME_DECLARE

/// Becomes the program of that name on the PATH, which finds this one's path in CONVOLUME_COMMAND.
/// Returns only by an exception: Unavailable, with what to install.
[[noreturn]] void run_python_program(std::string name, std::vector<std::string> arguments);

/// Adds the subcommands to `app`; parsing sets `action` to what the chosen one does.
void add_commands(CLI::App& app, Action& action);

/// Parses, and runs nothing. Throws CLI::ParseError or InvalidArgument.
void parse_command_line(CLI::App& app, int argc, const char* const* argv);

}  // namespace convolume::cli
