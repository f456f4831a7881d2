// SPDX-License-Identifier: Apache-2.0
// `convolume process` is a part of the Python package: this runs its program, convolume-process.

#include <CLI/CLI.hpp>

#include "cli/app.hpp"

namespace convolume::cli {

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
