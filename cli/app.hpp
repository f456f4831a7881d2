// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command `convolume`: its version and its subcommands.

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace convolume::cli {

extern const char* const version;

/// Returns a text like "convolume 1.2.3", which --version prints and outputs record.
std::string software_name();

/// Runs the command line. Returns an exit code of run/errors.hpp.
int run(int argc, const char* const* argv);

/// The function of the chosen subcommand: set while the command line is parsed, called afterwards.
using Action = std::function<void()>;

/// Replaces this process by the program `name` beside this command or on the PATH. It gets the path
/// of this command in CONVOLUME_COMMAND. If that fails, throws Unavailable, which says what to
/// install.
[[noreturn]] void run_python_program(std::string name, std::vector<std::string> arguments);

/// Adds the subcommands to `app`. Parsing sets `action` to the function of the chosen one.
void add_commands(CLI::App& app, Action& action);

/// Parses the command line without running it. Throws CLI::ParseError or InvalidArgument.
void parse_command_line(CLI::App& app, int argc, const char* const* argv);

/// Words that were given for each option, by its first long name without dashes, and for the
/// arguments SOURCE and TARGET. A flag has the word "true".
using ProcessWords = std::map<std::string, std::vector<std::string>>;

/// Parses the words after `convolume process`. If there is one argument alone, it is in SOURCE.
/// Throws InvalidArgument.
ProcessWords parse_process(const std::vector<std::string>& words);

}  // namespace convolume::cli
