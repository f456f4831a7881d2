// SPDX-License-Identifier: Apache-2.0
// Runs `convolume process`, which is the program convolume-process of the Python package.

#include <CLI/CLI.hpp>

#include "cli/app.hpp"

namespace convolume::cli {

void add_process_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "process",
        "Convolves or deconvolves images larger than a machine, block by block, into OME-Zarr");
    // All arguments, --help too, are passed to the other program.
    command->set_help_flag();
    command->prefix_command();
    command->callback([command, &action] {
        action = [arguments = command->remaining()] {
            run_python_program("convolume-process", arguments);
        };
    });
}

}  // namespace convolume::cli
