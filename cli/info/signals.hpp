// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `convolume info` prints of files of 1D signals.

#include <string>

#include "convolume/signal_file.hpp"

namespace convolume::cli {

/// Whether `path` holds signals rather than an image: raw files, WAV, and arrays of one axis. False
/// for what cannot be opened. Throws Unavailable for formats that this build does not have.
bool holds_signals(const std::string& path, const io::OpenSignalOptions& options);

/// What the file says; with `statistics` of its samples, too.
std::string signals_text(io::SignalReader& reader, bool statistics);
std::string signals_json(const std::string& path, io::SignalReader& reader, bool statistics);

}  // namespace convolume::cli
