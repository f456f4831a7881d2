// SPDX-License-Identifier: Apache-2.0
#pragma once
// The request of `convolume filter`, of files and of a live signal.

#include <optional>
#include <string>
#include <vector>

#include "cli/signals/signal_steps.hpp"
#include "convolume/engines.hpp"
#include "convolume/filter_options.hpp"

namespace convolume::cli {

struct LiveOptions {
    bool is_matrix = false;      ///< a filter for each output and each signal
    std::optional<bool> is_wav;  ///< format of standard output; if not given, the signal's
};

/// The request of the command line.
struct FilterRequest : SignalRequest {
    std::vector<std::string> filters;
    std::string positions;  ///< file of the positions of peaks; empty for none
    FilterOptions options;
    LiveOptions live;
    EngineChoice engines;
    io::OpenSignalOptions filter_files;

    RunFiles files() const {
        RunFiles files = SignalRequest::files();
        files.outputs.push_back(positions);
        files.inputs.insert(files.inputs.end(), filters.begin(), filters.end());
        return files;
    }
};

}  // namespace convolume::cli
