// SPDX-License-Identifier: Apache-2.0
#pragma once
// Metadata of image files as JSON. Triples are always z, y, x.

#include <nlohmann/json.hpp>
#include <string>

#include "convolume/image_file.hpp"

namespace convolume::cli {

nlohmann::ordered_json shape_json(const Shape3& shape);
/// {"scale", "offset"}, or null where stored samples are the values.
nlohmann::ordered_json scaling_json(const io::ImageMetadata& metadata);
nlohmann::ordered_json to_json(const std::string& file, const io::ImageMetadata& metadata);

/// Text of a whole answer; bytes that are no UTF-8, as in old files, are replaced.
std::string dump(const nlohmann::ordered_json& json);

}  // namespace convolume::cli
