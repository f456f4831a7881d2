// SPDX-License-Identifier: Apache-2.0
#pragma once
// The microscope of an image, as parameters of its PSF: from the metadata of the file, and from
// names of objectives as they are engraved on them.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/image_file.hpp"

namespace convolume::cli {

/// The microscope of an image.
struct ImageOptics {
    /// Parameters of the microscope, with the keys of psf/parameters.hpp.
    nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
    std::string text;  ///< "NA 1.4, ni 1.515 (Oil), emission 520 nm"; empty without parameters
    /// Parameters that neither the image nor the command line gives, with their defaults, if `text`
    /// is not empty: "ni 1.515 assumed (the image does not say the immersion)".
    std::string assumed;
    std::vector<std::string> warnings;  ///< warnings of improbable assumptions
    /// Returns "NA 1.4, from SOURCE; ni 1.515 assumed (…)"; empty without parameters.
    std::string line(const std::string& source) const;
};

/// Returns the parameters of an image for the PSF of a channel. Parameters in `typed` are left out,
/// and those that the modality, typed or from the file, does not use.
///
/// Parameters in `others`, such as those of a side file, are not assumed if the image lacks them.
ImageOptics optics_of(const io::ImageMetadata& image, index_t channel,
                      const nlohmann::ordered_json& typed,
                      const nlohmann::ordered_json& others = nlohmann::ordered_json::object());

/// An objective that is described by its name.
struct NamedObjective {
    double magnification;
    double na;
    double ni;
};

/// Parses a name such as "60x/1.4 oil": magnification, NA and immersion medium, which may be left
/// out for air. Capitals and spaces do not matter. Throws InvalidArgument that names `option`.
NamedObjective parse_objective(std::string_view option, std::string_view text);

/// Returns a table of common objectives.
std::string list_of_objectives();

/// Returns the refractive index of a medium: OME's "Oil", "WaterDipping", …, and the media of
/// parse_objective(). Returns nothing for other words.
std::optional<double> index_of_immersion(std::string_view medium);

}  // namespace convolume::cli
