#pragma once
// What `convolume psf` was asked to do.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/run/run_request.hpp"

namespace convolume::cli {

struct PsfRequest {
    nlohmann::ordered_json typed = nlohmann::ordered_json::object();  ///< see psf_parameters.hpp
    std::string from;                                                 ///< a side file, or empty
    bool auto_size = false;         ///< typed; also when nothing says a size
    bool brightest = false;         ///< typed
    std::optional<double> capture;  ///< typed; 0.95 where not
    int threads = 0;
    std::string output;
    bool overwrite = false;
    bool json = false;
    bool explain = false;
    Verbosity verbosity = Verbosity::normal;
};

/// Makes the PSF, writes it and its side file, reports.
void run_psf(const PsfRequest& request);

}  // namespace convolume::cli
