// SPDX-License-Identifier: Apache-2.0
#pragma once
// The microscope of an image, as parameters of its PSF: what the image's file says, and objectives
// by the names that are engraved on them.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/image_file.hpp"

namespace convolume::cli {

struct ImageOptics {
    nlohmann::ordered_json parameters = nlohmann::ordered_json::object();  ///< see parameters.hpp
    std::string text;  ///< "NA 1.4, ni 1.515 (Oil), emission 520 nm"; empty where there is nothing
    /// Parameters that neither the image nor the command line gives, with their defaults, if `text`
    /// is not empty: "ni 1.515 assumed (the image does not say the immersion)".
    std::string assumed;
    std::vector<std::string> warnings;  ///< of what is assumed and improbable

    /// "NA 1.4, from SOURCE; ni 1.515 assumed (…)"; empty where there is nothing.
    std::string line(const std::string& source) const;
};

/// Parameters for the PSF of a channel. Those in `typed` are left out, and those that the modality,
/// typed or of the file, does not use.
///
/// Those in `others`, such as a file of parameters, are not assumed if the image lacks them.
ImageOptics optics_of(const io::ImageMetadata& image, index_t channel,
                      const nlohmann::ordered_json& typed,
                      const nlohmann::ordered_json& others = nlohmann::ordered_json::object());

struct NamedObjective {
    double magnification;
    double na;
    double ni;
};

/// "60x/1.4 oil": magnification, NA and immersion medium, which may be left out in air. Capitals
/// and spaces do not matter. Throws InvalidArgument that names `option`.
NamedObjective parse_objective(std::string_view option, std::string_view text);

/// A line for each of the common ones, and the media.
std::string list_of_objectives();

/// The index of OME's "Oil", "WaterDipping", … and of the media of parse_objective(); nothing for
/// other words.
std::optional<double> index_of_immersion(std::string_view medium);

}  // namespace convolume::cli
