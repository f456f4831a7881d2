// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume psf`: its request, and its two runs, which compute a PSF or measure it from beads.

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "convolume/beads.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

struct PsfRequest {
    nlohmann::ordered_json typed =
        nlohmann::ordered_json::object();  ///< typed parameters, see parameters.hpp
    std::string from;                      ///< side file to read; empty for none
    bool auto_size = false;                ///< whether --size auto was typed
    bool brightest = false;                ///< whether --focus brightest was typed
    std::optional<double> capture;         ///< share of light for an automatic size
    std::string like;                      ///< image to make the PSF for; empty for none
    std::string channel = "0";             ///< channel of `like` or `beads`, number or name
    std::string stack;                     ///< axis of the files of `like` or `beads`, such as "z"
    std::string beads;                     ///< stack to measure the PSF from; empty for none
    std::optional<Shape3> regions;         ///< number of regions of the field to measure a PSF of
    std::vector<PsfParameter> refine;      ///< parameters of the model to refine by the beads
    std::optional<double> scan_step_um;    ///< step of the stage, if typed
    std::vector<double> depths_um;         ///< depths of --depths, each with a file of its own
    bool write_model = false;   ///< whether to write the refined model, not the measured PSF
    std::string voxel_warning;  ///< warning of the typed voxel size; empty for none
    int threads = 0;
    std::string output;  ///< path of the PSF; empty: only figures are printed
    bool overwrite = false;
    bool explain = false;
    RunOptions run;

    /// Returns the JSON file of the parameters: psf.json for psf.tif and psf.h5:/dataset.
    std::string side_file() const;
    /// Returns the list of the PSFs of regions: psf.csv for psf.tif.
    std::string list_file() const;
    /// Returns the file of the PSF of region number `k`: psf.0-1-2.tif for psf.tif.
    std::string file_of_region(index_t k) const;
    RunFiles files() const {
        std::vector<std::string> inputs;
        for (const std::string& image : {like, beads})
            if (!image.empty())
                for (std::string& file : io::image_files(image, {.stack = stack}))
                    inputs.push_back(std::move(file));
        std::vector<std::string> outputs;
        if (!regions) outputs.push_back(output);
        for (index_t k = 0; regions && k < element_count(*regions); ++k)
            outputs.push_back(file_of_region(k));
        if (regions) outputs.push_back(list_file());
        outputs.push_back(side_file());
        return {outputs, inputs, overwrite};
    }
};

/// Returns a request for the PSF of each of --depths: psf.3um.tif for psf.tif. Throws
/// InvalidArgument if two depths are equal, and as check_outputs() does before any PSF is computed.
std::vector<PsfRequest> requests_of_depths(const PsfRequest& request);

/// Parses a list of "na", "index" and "depth", separated by commas. Throws InvalidArgument.
std::vector<PsfParameter> parse_refine(std::string_view option, const std::string& text);

/// Creates the file `path` of a PSF, whose samples are float32.
std::unique_ptr<io::ImageWriter> create_psf_file(
    const PsfRequest& request, const std::string& path, const Shape3& size,
    const std::array<std::optional<double>, 3>& voxel_size_um);

/// Returns the number of --channel in the image of --like or --from-beads. Throws InvalidArgument
/// if it does not have that channel.
index_t channel_of(const PsfRequest& request, const io::ImageMetadata& image);

/// Computes a PSF from the typed options, and writes it with its parameters.
void compute_psf(const PsfRequest& request);

/// Runs --from-beads: measures a PSF, and compares it with the typed or refined model.
void measure_psf(const PsfRequest& request);

}  // namespace convolume::cli
