// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `convolume psf` was asked to do.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "convolume/beads.hpp"

namespace convolume::cli {

struct PsfRequest {
    nlohmann::ordered_json typed = nlohmann::ordered_json::object();  ///< see parameters.hpp
    std::string from;                                                 ///< a side file, or empty
    bool auto_size = false;            ///< typed; also if no size is given
    bool brightest = false;            ///< typed
    std::optional<double> capture;     ///< typed
    std::string like;                  ///< an image, or empty
    index_t channel = 0;               ///< of `like` or `beads`
    std::string beads;                 ///< a stack to measure the PSF from, or empty
    std::vector<PsfParameter> refine;  ///< of the model, by the beads
    bool write_model = false;          ///< the refined one in place of the measured PSF
    std::string voxel_doubt;           ///< of the size typed; empty for none
    int threads = 0;
    std::string output;  ///< empty: facts alone, as in a dry run
    bool overwrite = false;
    bool explain = false;
    RunOptions run;

    /// The JSON file of the parameters: psf.tif and psf.h5:/dataset have psf.json beside them.
    std::string side_file() const;
    RunFiles files() const {
        std::vector<std::string> inputs;
        if (!like.empty()) inputs.push_back(like);
        if (!beads.empty()) inputs.push_back(beads);
        return {{output, side_file()}, inputs, overwrite};
    }
};

}  // namespace convolume::cli
