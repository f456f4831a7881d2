// SPDX-License-Identifier: Apache-2.0
#include "io/tiff/shaped_text.hpp"

#include <nlohmann/json.hpp>

#include "io/axis_layout.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

using Json = nlohmann::json;

/// Removes the dimensions of one page from the end of `dims`; false when they are not there.
bool drop_page_dimensions(std::vector<index_t>& dims, const TiffPage& page) {
    std::vector<index_t> tail{page.height, page.width};
    if (page.samples > 1)
        tail.insert(page.planar ? tail.begin() : tail.end(), page.samples);
    else if (dims.size() > 2 && dims.back() == 1 && dims[dims.size() - 2] == page.width &&
             dims[dims.size() - 3] == page.height)
        dims.pop_back();
    if (dims.size() < tail.size() || !std::equal(tail.rbegin(), tail.rend(), dims.rbegin()))
        return false;
    dims.resize(dims.size() - tail.size());
    return true;
}

void read_calibration(const Json& json, const std::array<double, 2>& pixels_per_unit,
                      ImageMetadata& metadata) {
    if (!json.contains("unit") || !json["unit"].is_string()) return;
    const auto micrometers = micrometers_per(utf8_from_imagej(json["unit"].get<std::string>()));
    if (!micrometers) return;
    metadata.unit = utf8_from_imagej(json["unit"].get<std::string>());
    if (json.contains("spacing") && json["spacing"].is_number() &&
        json["spacing"].get<double>() > 0)
        metadata.voxel_size_um[0] = json["spacing"].get<double>() * *micrometers;
    for (std::size_t axis = 1; axis < 3; ++axis)
        if (pixels_per_unit[axis - 1] > 0)
            metadata.voxel_size_um[axis] = *micrometers / pixels_per_unit[axis - 1];
}

}  // namespace

std::optional<TiffStack> shaped_stack(const std::string& description, const TiffPage& page,
                                      const std::array<double, 2>& pixels_per_unit,
                                      ImageMetadata& metadata) {
    if (description.empty() || description[0] != '{') return std::nullopt;
    const Json json = Json::parse(description, nullptr, false);
    if (!json.is_object() || !json.contains("shape") || !json["shape"].is_array())
        return std::nullopt;
    if (json["shape"].size() > most_dimensions) return std::nullopt;
    std::vector<index_t> dims;
    for (const Json& extent : json["shape"]) {
        if (!extent.is_number_integer() || extent.get<index_t>() < 1) return std::nullopt;
        dims.push_back(extent.get<index_t>());
    }
    if (!drop_page_dimensions(dims, page)) return std::nullopt;
    read_calibration(json, pixels_per_unit, metadata);

    std::string letters;
    if (json.contains("axes") && json["axes"].is_string())
        letters = json["axes"].get<std::string>().substr(0, dims.size());
    while (dims.size() > 3 && dims.front() == 1) {
        dims.erase(dims.begin());
        if (!letters.empty()) letters.erase(0, 1);
    }
    if (dims.size() > 3) return std::nullopt;
    bool known = letters.size() == dims.size();
    for (std::size_t d = 0; known && d < letters.size(); ++d)
        known = std::string("TCZ").find(letters[d]) != std::string::npos &&
                letters.find(letters[d], d + 1) == std::string::npos;
    if (!known) letters = std::string("TCZ").substr(3 - dims.size());
    return TiffStack{letters, dims, {}};
}

}  // namespace convolume::io
