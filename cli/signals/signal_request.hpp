// SPDX-License-Identifier: Apache-2.0
#pragma once
// The part of a request that all commands on 1D signals have: the signal, the file of the result,
// and options of both.

#include <CLI/CLI.hpp>
#include <string>

#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::cli {

/// Path that names standard input or standard output.
inline constexpr const char* standard_stream = "-";

struct SignalRequest {
    std::string signal;  ///< a file, or "-"
    std::string output;  ///< a file, or "-"; may be empty in a dry run
    io::OpenSignalOptions signal_file;
    io::CreateSignalOptions create;  ///< options of the result's file
    RunOptions run;

    bool reads_stdin() const { return signal == standard_stream; }
    bool writes_stdout() const { return output == standard_stream; }
    /// Returns true if a run that failed can start again.
    bool can_restart() const { return !reads_stdin() && !writes_stdout(); }
    /// Returns the files of the signal, the result and the timeline.
    RunFiles files() const;
};

/// Adds SIGNAL and the options of raw files.
void add_signal(CLI::App& app, SignalRequest& request);

/// Throws InvalidArgument if the signal is to come from a terminal.
void check_standard_input(const SignalRequest& request);
/// Throws InvalidArgument if samples would go to a terminal, or together with --json to standard
/// output.
void check_standard_output(const SignalRequest& request);

}  // namespace convolume::cli
