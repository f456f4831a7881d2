// SPDX-License-Identifier: Apache-2.0
#pragma once
// Metadata of image files as JSON. Triples are always z, y, x.

#include <nlohmann/json.hpp>
#include <string>

#include "convolume/image_file.hpp"

namespace convolume::cli {

nlohmann::ordered_json shape_json(const Shape3& shape);
/// Returns {"scale", "offset"}, or null if the stored samples are the values.
nlohmann::ordered_json scaling_json(const io::ImageMetadata& metadata);
/// Returns the metadata of an image, with the path `file`.
nlohmann::ordered_json to_json(const std::string& file, const io::ImageMetadata& metadata);

/// Returns the text of an object of --json. Bytes that are no UTF-8 are replaced.
std::string dump(const nlohmann::ordered_json& json);

}  // namespace convolume::cli
