// SPDX-License-Identifier: Apache-2.0
// The command `convolume` in the process of Python, where formats of Python are registered.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "cli/app.hpp"
#include "cli/run/errors.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/execution.hpp"

namespace convolume::python {

void bind_command(nb::module_& module) {
    module.def(
        "run_command",
        [](const std::vector<std::string>& words) {
            std::vector<const char*> arguments{"convolume"};
            for (const std::string& word : words) arguments.push_back(word.c_str());
            const nb::gil_scoped_release released;
            return cli::run(static_cast<int>(arguments.size()), arguments.data());
        },
        "Runs the command with these words and returns its exit code. It takes over the signals of "
        "the process, which should end afterwards.",
        "words"_a);
    module.def(
        "throw_if_stopped",
        [] {
            const StopScope scope{std::stop_token()};
            if (scope.stop_requested()) throw Cancelled("the command was stopped as requested");
        },
        "Raises Cancelled if the user stopped the command that runs in this thread.");
    module.attr("internal_error") = cli::internal_error;
    const std::pair<const char*, cli::ExitCode> codes[] = {
        {"BlocksFailed", cli::ExitCode::some_files_failed},
        {"InvalidArgument", cli::ExitCode::usage},
        {"OutOfMemory", cli::ExitCode::out_of_memory},
        {"MemoryError", cli::ExitCode::out_of_memory},
        {"Unavailable", cli::ExitCode::unavailable},
        {"OutputExists", cli::ExitCode::output_exists},
        {"BadData", cli::ExitCode::bad_data},
        {"InputNotFound", cli::ExitCode::no_input},
        {"CannotCreate", cli::ExitCode::cannot_create},
        {"OSError", cli::ExitCode::io_error},
        {"Cancelled", cli::ExitCode::interrupted},
        {"KeyboardInterrupt", cli::ExitCode::interrupted},
        {"Exception", cli::ExitCode::internal}};
    nb::dict of_errors;
    for (const auto& [name, code] : codes) of_errors[name] = static_cast<int>(code);
    module.attr("exit_codes") = of_errors;
    module.def("parse_process", &cli::parse_process,
               "Returns the words of each option of `convolume process`, by its name.", "words"_a);
    module.def("parse_length_um", &cli::parse_length_um,
               "Returns a length in µm of a text with its unit.", "name"_a, "text"_a);
    module.def("parse_lengths_um", &cli::parse_lengths_um,
               "Returns three lengths in µm of the value of an option.", "option"_a, "text"_a);
}

}  // namespace convolume::python
