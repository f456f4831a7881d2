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

struct FilterRequest {
    std::string signal;
    std::vector<std::string> filters;
    std::string output;     ///< may be empty in a dry run
    std::string positions;  ///< of peaks; empty for none
    FilterOptions options;
    EngineChoice engines;
    io::OpenSignalOptions signal_file;
    io::OpenSignalOptions filter_files;
    bool overwrite = false;
    RunOptions run;

    RunFiles files() const {
        RunFiles files{{run.timeline, positions, output}, filters, overwrite};
        files.inputs.push_back(signal);
        return files;
    }
};

}  // namespace convolume::cli
