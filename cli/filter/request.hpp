// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `convolume filter` was asked to do.

#include <string>
#include <vector>

#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "convolume/filter_bank.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::cli {

/// As a path: standard input or output.
inline constexpr const char* standard_stream = "-";

struct FilterRequest {
    std::string signal;  ///< or "-"
    std::vector<std::string> filters;
    std::string output;     ///< or "-"; may be empty in a dry run
    std::string positions;  ///< of peaks; empty for none
    FilterOptions options;
    EngineChoice engines;
    io::OpenSignalOptions signal_file;
    io::OpenSignalOptions filter_files;
    io::CreateSignalOptions create;  ///< of the result
    RunOptions run;

    bool reads_stdin() const { return signal == standard_stream; }
    bool writes_stdout() const { return output == standard_stream; }
    /// Whether a run that failed can start again.
    bool can_restart() const { return !reads_stdin() && !writes_stdout(); }

    RunFiles files() const {
        RunFiles files{{run.timeline, positions}, filters, create.overwrite};
        if (!writes_stdout()) files.outputs.push_back(output);
        if (!reads_stdin()) files.inputs.push_back(signal);
        return files;
    }
};

}  // namespace convolume::cli
