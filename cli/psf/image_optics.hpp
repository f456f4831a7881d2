// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an image file says of the microscope that recorded it, as parameters of its PSF.

#include <nlohmann/json.hpp>
#include <string>
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

}  // namespace convolume::cli
