// SPDX-License-Identifier: Apache-2.0
// dump_image IMAGE RAW [AXES [contain]]: writes the pixels as t, c, z, y, x to RAW, and the
// metadata as JSON to stdout. With `contain`, a helper process contains damage (contain_damage()).
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"

int main(int argc, char** argv) try {
    using namespace convolume;
    if (argc < 3) return 2;
    io::contain_damage(argc > 5);
    const auto reader = io::open_image(argv[1], {argc > 3 ? argv[3] : "", argc > 4 ? argv[4] : ""});
    const io::ImageMetadata& m = reader->metadata();
    std::ofstream raw(argv[2], std::ios::binary);
    Volume volume(m.shape, m.type);
    for (index_t t = 0; t < m.frames; ++t)
        for (index_t c = 0; c < m.channels; ++c) {
            reader->read(t, c, volume.view());
            raw.write(static_cast<const char*>(volume.view().data),
                      m.bytes() / (m.frames * m.channels));
        }
    nlohmann::json json = {
        {"format", m.format},
        {"type", to_string(m.type)},
        {"axes", m.axes},
        {"unit", m.unit},
        {"shape", {m.frames, m.channels, m.shape.z, m.shape.y, m.shape.x}},
        {"channels", m.channel_names},
        {"notes", m.notes},
        {"interval", m.frame_interval_s ? nlohmann::json(*m.frame_interval_s) : nlohmann::json()},
        {"images", m.images},
        {"image", m.image},
        {"image_name", m.image_name},
        {"voxel", nlohmann::json::array()}};
    for (const auto& size : m.voxel_size_um)
        json["voxel"].push_back(size ? nlohmann::json(*size) : nlohmann::json());
    reader->check_unchanged();
    std::cout << json.dump() << '\n';
    return raw ? 0 : 1;
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
