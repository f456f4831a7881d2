// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command `convolume`: its version and its subcommands.

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
    SUBCOMMAND(correlate)                 \
    SUBCOMMAND(resample)                  \
    SUBCOMMAND(channelize)                \
    SUBCOMMAND(psf)                       \
    SUBCOMMAND(phantom)                   \
    SUBCOMMAND(simulate)                  \
    SUBCOMMAND(info)                      \
    SUBCOMMAND(preview)                   \
    SUBCOMMAND(project)                   \
    SUBCOMMAND(convert)                   \
    SUBCOMMAND(diff)                      \
    SUBCOMMAND(compare)                   \
    SUBCOMMAND(process)                   \
    SUBCOMMAND(doctor)                    \
    SUBCOMMAND(completion)

namespace convolume::cli {

extern const char* const version;

/// Returns a text like "convolume 1.2.3", which --version prints and outputs record.
std::string software_name();

/// Runs the command line. Returns an exit code of run/errors.hpp.
int run(int argc, const char* const* argv);

/// The function of the chosen subcommand: set while the command line is parsed, called afterwards.
using Action = std::function<void()>;

#define CONVOLUME_DECLARE(name) void add_##name##_command(CLI::App& app, Action& action);
CONVOLUME_SUBCOMMANDS(CONVOLUME_DECLARE)
#undef CONVOLUME_DECLARE

/// Replaces this process by the program `name` beside this command or on the PATH. It gets the path
/// of this command in CONVOLUME_COMMAND. If that fails, throws Unavailable, which says what to
/// install.
[[noreturn]] void run_python_program(std::string name, std::vector<std::string> arguments);

/// Adds the subcommands to `app`. Parsing sets `action` to the function of the chosen one.
void add_commands(CLI::App& app, Action& action);

/// Parses the command line without running it. Throws CLI::ParseError or InvalidArgument.
void parse_command_line(CLI::App& app, int argc, const char* const* argv);

}  // namespace convolume::cli
