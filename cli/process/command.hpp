// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs of the Python package that stand in for a subcommand, such as convolume-process for
// `convolume process`.

#include <string>
#include <vector>

namespace convolume::cli {

/// Becomes the program of that name on the PATH, which finds this one's path in CONVOLUME_COMMAND.
/// Returns only by an exception: Unavailable, with what to install.
[[noreturn]] void run_python_program(std::string name, std::vector<std::string> arguments);

/// Whether this process was started by such a program.
bool started_by_python_program();

}  // namespace convolume::cli
