// SPDX-License-Identifier: Apache-2.0
#pragma once
// Command-line options that several subcommands have in common.

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "cli/text/console.hpp"
#include "convolume/convolver.hpp"
#include "convolume/filter_options.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::cli {

/// Options for everything that a run does and prints besides its result.
struct RunOptions {
    bool dry_run = false;
    bool json = false;
    std::string timeline;  ///< file of the timeline; empty for none
    Verbosity verbosity = Verbosity::normal;
};

/// Adds --dry-run, --json, --timeline, -q and -v.
void add_run_options(CLI::App& app, RunOptions& options);
void add_json_option(CLI::App& app, RunOptions& options);
CLI::Option* add_quiet_option(CLI::App& app, RunOptions& options);
/// Adds -q and -v.
void add_verbosity_options(CLI::App& app, RunOptions& options, const char* verbose_help);

/// Throws InvalidArgument if no output is named and the run is not dry.
void require_output(const std::string& output, const RunOptions& options);

void add_device_option(CLI::App& app, EngineChoice& engines);
void add_threads_option(CLI::App& app, int& threads);
/// Adds the options of a FilterBank as to how and where it computes, as a group.
void add_filter_machine_options(CLI::App& app, FilterOptions& options, EngineChoice& engines);
/// Adds the options of a Convolver: method, parts, precision, devices, memory, threads.
void add_convolution_options(CLI::App& app, Options& options, EngineChoice& engines);

/// Parses a number of parts: 1, 2, 4, 8 or 16, or "auto", which is 0.
int parse_parts(std::string_view text);

/// Adds --raw, --header, --byte-order, --signals and --layout for raw files and pipes.
void add_raw_options(CLI::App& app, io::OpenSignalOptions& options);

}  // namespace convolume::cli
