// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options of deconvolution that several commands have, --uncertainty with --splits and --seed, and
// checks of the options of the library.

#include <CLI/CLI.hpp>
#include <string>

#include "convolume/deconvolver.hpp"
#include "convolume/missing_pixels.hpp"

namespace convolume::cli {

/// Adds --uncertainty, which names a second result, --splits and --seed. `more` ends the help of
/// --uncertainty.
void add_uncertainty_options(CLI::App& app, std::string& second_output, DeconvolveOptions& options,
                             const char* more = "");
/// Sets the number of splits. Throws InvalidArgument for --splits or --seed without --uncertainty,
/// or if that names no file.
void check_uncertainty_options(const CLI::App& command, const std::string& second_output,
                               DeconvolveOptions& options);

/// Throws InvalidArgument if an option of the library is given, maybe as it is by default, that
/// asks for something and that these options do not use.
void require_given_options(const CLI::App& command, const DeconvolveOptions& options,
                           const MissingPixelOptions& missing = {});

}  // namespace convolume::cli
