// SPDX-License-Identifier: Apache-2.0
#pragma once
// The microscope of an image, from the metadata of its file, as parameters of its PSF.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "convolume/image_file.hpp"

namespace convolume::cli {

/// The microscope of an image.
struct ImageOptics {
    /// Parameters of the microscope, with the keys of psf/parameters.hpp.
    nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
    std::string text;     ///< RecordedOptics::text
    std::string assumed;  ///< RecordedOptics::assumed
    std::vector<std::string> warnings;
    /// Returns "NA 1.4, from SOURCE; ni 1.515 assumed (…)"; empty without parameters.
    std::string line(const std::string& source) const;
};

/// Returns recorded_optics() for parameters with the keys of psf/parameters.hpp.
ImageOptics optics_of(const io::ImageMetadata& image, index_t channel,
                      const nlohmann::ordered_json& typed,
                      const nlohmann::ordered_json& others = nlohmann::ordered_json::object());

}  // namespace convolume::cli
