#pragma once
// What `convolume filter` was asked to do.

#include <string>
#include <vector>

#include "cli/run/run_request.hpp"
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
    ReportOptions report;
};

}  // namespace convolume::cli
