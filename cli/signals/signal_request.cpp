// SPDX-License-Identifier: Apache-2.0
#include "cli/signals/signal_request.hpp"

#include <unistd.h>

#include "cli/text/option_help.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

RunFiles SignalRequest::files() const {
    RunFiles files{{run.timeline}, {}, create.overwrite};
    if (!writes_stdout()) files.outputs.push_back(output);
    if (!reads_stdin()) files.inputs.push_back(signal);
    return files;
}

void add_signal(CLI::App& app, SignalRequest& request) {
    app.add_option(
           "SIGNAL", request.signal,
           "NPY, file.h5, file.h5:/dataset, WAV, raw (.f32, .c64, .i16, .ci16, …), or - for raw "
           "samples on standard input: the last axis holds the samples")
        ->required();
    begin_group(app, groups::input);
    add_raw_options(app, request.signal_file);
}

void check_standard_input(const SignalRequest& request) {
    if (request.reads_stdin() && isatty(STDIN_FILENO) == 1)
        throw InvalidArgument(
            "standard input is a terminal; pipe samples into convolume, or name a file");
}

void check_standard_output(const SignalRequest& request) {
    if (!request.writes_stdout() || request.run.dry_run) return;
    if (request.run.json)
        throw InvalidArgument(
            "both samples and --json would go to standard output; leave out one of them");
    if (isatty(STDOUT_FILENO) == 1)
        throw InvalidArgument(
            "samples are not written to a terminal; pipe them on, or name a file (-o OUT)");
}

}  // namespace convolume::cli
