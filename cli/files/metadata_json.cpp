// SPDX-License-Identifier: Apache-2.0
#include "cli/files/metadata_json.hpp"

#include "cli/run/report.hpp"

namespace convolume::cli {

using nlohmann::ordered_json;

ordered_json shape_json(const Shape3& shape) {
    return ordered_json::array({shape.z, shape.y, shape.x});
}

ordered_json scaling_json(const io::ImageMetadata& metadata) {
    if (!metadata.scaling) return nullptr;
    return {{"scale", metadata.scaling->scale}, {"offset", metadata.scaling->offset}};
}

ordered_json to_json(const std::string& file, const io::ImageMetadata& metadata) {
    ordered_json voxel_size = ordered_json::array();
    for (const auto& size : metadata.voxel_size_um) voxel_size.push_back(or_null(size));
    ordered_json json;
    json["file"] = file;
    json["format"] = metadata.format;
    json["axes"] = metadata.axes;
    json["frames"] = metadata.frames;
    json["channels"] = metadata.channels;
    json["shape"] = shape_json(metadata.shape);
    json["type"] = to_string(metadata.type);
    json["voxel_size_um"] = voxel_size;
    json["unit"] = metadata.unit;
    json["frame_interval_s"] = or_null(metadata.frame_interval_s);
    if (metadata.images > 1) {
        json["images_in_file"] = metadata.images;
        json["image"] = {{"number", metadata.image}, {"name", metadata.image_name}};
    }
    if (!metadata.notes.empty()) json["notes"] = metadata.notes;
    json["channel_names"] = metadata.channel_names;
    json["value_scaling"] = scaling_json(metadata);
    json["bytes"] = metadata.bytes();
    return json;
}

std::string dump(const ordered_json& json) {
    return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace convolume::cli
