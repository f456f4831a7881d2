// SPDX-License-Identifier: Apache-2.0
// make_image OUTPUT TYPE COMPRESSION T C Z Y X < RAW: writes RAW, pixels as t, c, z, y, x, in boxes
// out of order, with voxel size 0.3, 0.104, 0.1 µm, interval 2.5 s and channel names.
// make_image OUTPUT copy INPUT: copies an image.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"

namespace {

using namespace convolume;

io::Compression compression_of(const std::string& name) {
    if (name == "deflate") return io::Compression::deflate;
    if (name == "lzw") return io::Compression::lzw;
    if (name == "zstd") return io::Compression::zstd;
    if (name == "packbits") return io::Compression::packbits;
    return io::Compression::none;
}

void copy(const std::string& output, const std::string& input) {
    const auto reader = io::open_image(input);
    const io::ImageMetadata& m = reader->metadata();
    const auto writer =
        io::create_image(output, m, {true, io::Compression::none, "convolume test"});
    Volume volume(m.shape, m.type);
    for (index_t t = 0; t < m.frames; ++t)
        for (index_t c = 0; c < m.channels; ++c) {
            reader->read(t, c, volume.view());
            writer->write(t, c, volume.view());
        }
    writer->commit();
}

void make(char** argv) {
    io::ImageMetadata m;
    m.type = parse_pixel_type(argv[2]);
    m.frames = std::atoll(argv[4]);
    m.channels = std::atoll(argv[5]);
    m.shape = {std::atoll(argv[6]), std::atoll(argv[7]), std::atoll(argv[8])};
    m.voxel_size_um = {0.3, 0.104, 0.1};
    m.frame_interval_s = 2.5;
    for (index_t c = 0; c < m.channels; ++c) m.channel_names.push_back("dye " + std::to_string(c));
    const auto writer =
        io::create_image(argv[1], m, {true, compression_of(argv[3]), "convolume test"});
    std::vector<Volume> volumes;
    std::vector<std::pair<index_t, Box3>> boxes;
    const Shape3 step{2, 13, 9};
    for (index_t v = 0; v < m.frames * m.channels; ++v) {
        volumes.emplace_back(m.shape, m.type);
        std::cin.read(static_cast<char*>(volumes.back().view().data),
                      m.bytes() / (m.frames * m.channels));
        for (index_t z = 0; z < m.shape.z; z += step.z)
            for (index_t y = 0; y < m.shape.y; y += step.y)
                for (index_t x = 0; x < m.shape.x; x += step.x)
                    boxes.emplace_back(
                        v, intersection({{z, y, x}, {z + step.z, y + step.y, x + step.x}},
                                        {{0, 0, 0}, m.shape}));
    }
    std::shuffle(boxes.begin(), boxes.end(), std::mt19937(1));
    for (const auto& [v, box] : boxes)
        writer->write_box(v / m.channels, v % m.channels, box,
                          subview(volumes[static_cast<std::size_t>(v)].view(), box));
    writer->commit();
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc == 4)
        copy(argv[1], argv[3]);
    else if (argc == 9)
        make(argv);
    else
        return 2;
    return 0;
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
