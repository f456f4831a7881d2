// SPDX-License-Identifier: Apache-2.0
#pragma once
// PSFs that a run makes for its images, where no file is given.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "convolume/image_file.hpp"
#include "convolume/psf.hpp"

namespace convolume::cli {

struct MadePsfRequest {
    nlohmann::ordered_json typed = nlohmann::ordered_json::object();  ///< see psf/parameters.hpp
    std::vector<double> wavelengths_um;  ///< of emission: none, one, or one for each channel
    std::optional<double> capture;       ///< typed
    bool offered = false;                ///< by the subcommand
    bool asked = false;                  ///< there is no file

    bool any_typed() const { return !typed.empty() || !wavelengths_um.empty() || capture; }
};

/// The options of the microscope, in a group of their own.
void add_made_psf_options(CLI::App& app, MadePsfRequest& request);

/// A channel of an image; metadata are those of what is selected of it.
struct ImageChannel {
    const std::string& path;
    const io::ImageMetadata& metadata;
    index_t channel;  ///< of those that are selected
};

struct MadePsf {
    PsfOptions options;
    std::string optics;  ///< what the image's metadata gave and left to assume; may be empty
    std::vector<std::string> warnings;
};

/// The PSF of a channel, of the image's voxels. What was not typed is taken from the image's
/// metadata. Its size is {0, 0, 0} where none was typed. Throws InvalidArgument where something is
/// missing or does not fit.
MadePsf made_psf(const MadePsfRequest& request, const ImageChannel& image);

}  // namespace convolume::cli
