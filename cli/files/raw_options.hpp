// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options that say how the samples of a raw file lie.

#include <CLI/CLI.hpp>

#include "convolume/signal_file.hpp"

namespace convolume::cli {

/// --raw, --header, --byte-order and --signals; `group` may be null.
void add_raw_options(CLI::App& app, const char* group, io::OpenSignalOptions& options);

}  // namespace convolume::cli
