// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an image file says of the microscope that recorded it, as parameters of its PSF.

#include <nlohmann/json.hpp>
#include <string>

#include "convolume/image_file.hpp"

namespace convolume::cli {

struct ImageOptics {
    nlohmann::ordered_json parameters = nlohmann::ordered_json::object();  ///< see parameters.hpp
    std::string text;  ///< "NA 1.4, ni 1.515 (Oil), emission 520 nm"; empty where there is nothing
};

/// Parameters for the PSF of a channel. Those in `typed` are left out, and those that the modality,
/// typed or of the file, does not use.
ImageOptics optics_of(const io::ImageMetadata& image, index_t channel,
                      const nlohmann::ordered_json& typed);

}  // namespace convolume::cli
