// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options that several subcommands have in common.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cli/text/console.hpp"
#include "convolume/convolver.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::cli {

/// What a run does and prints besides its result.
struct RunOptions {
    bool dry_run = false;
    bool json = false;
    std::string timeline;  ///< a file; empty for none
    Verbosity verbosity = Verbosity::normal;
};

/// --dry-run, --json, --timeline, -q and -v.
void add_run_options(CLI::App& app, const char* group, RunOptions& options);
void add_json_option(CLI::App& app, const char* group, RunOptions& options);
CLI::Option* add_quiet_option(CLI::App& app, const char* group, RunOptions& options);

/// Throws InvalidArgument where there is no output and the run is not dry.
void require_output(const std::string& output, const RunOptions& options);

void add_device_option(CLI::App& app, const char* group, EngineChoice& engines);
void add_threads_option(CLI::App& app, const char* group, int& threads,
                        const char* help = "CPU threads (default: all)");
/// How a Convolver computes: method, parts, precision, devices, memory, threads.
void add_convolution_options(CLI::App& app, const char* group, Options& options,
                             EngineChoice& engines);

/// "auto" is 0; else 1, 2, 4, 8 or 16.
int parse_parts(std::string_view text);

}  // namespace convolume::cli

// The options that say how the samples of a raw file lie.
namespace convolume::cli {

/// --raw, --header, --byte-order and --signals; `group` may be null.
void add_raw_options(CLI::App& app, const char* group, io::OpenSignalOptions& options);

}  // namespace convolume::cli
