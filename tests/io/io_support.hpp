// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers for tests of image files: a temporary folder, images with random pixels, expected error
// messages.

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/volumes.hpp"

namespace convolume::testing {

/// A temporary folder in memory if the system has such a place.
struct MemoryFolder : TemporaryFolder {
    MemoryFolder() : TemporaryFolder(Place::memory) {}
};

inline std::string read_bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

/// Returns random bytes as pixels. They may be NaN, so they are compared as bytes.
inline Volume random_volume(const Shape3& shape, PixelType type, unsigned seed) {
    Volume volume(shape, type);
    std::mt19937 random(seed);
    auto* bytes = static_cast<unsigned char*>(volume.view().data);
    const index_t count = element_count(shape) * static_cast<index_t>(size_of(type));
    for (index_t i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(random());
    return volume;
}

inline Volume read_channel(io::ImageReader& reader, index_t t = 0, index_t c = 0) {
    Volume volume(reader.metadata().shape, reader.metadata().type);
    reader.read(t, c, volume.view());
    return volume;
}

inline void write_image(const std::string& path, const io::ImageMetadata& metadata, unsigned seed,
                        const io::CreateOptions& options = {}) {
    const auto writer = io::create_image(path, metadata, options);
    for (index_t t = 0; t < metadata.frames; ++t)
        for (index_t c = 0; c < metadata.channels; ++c)
            writer->write(t, c, random_volume(metadata.shape, metadata.type, seed++).view());
    writer->commit();
}

/// Opens a file and reads everything. Returns the message of the error, or "" if there is none.
template <class Expected>
std::string refusal(const std::string& path, const io::OpenOptions& options = {}) {
    try {
        const auto reader = io::open_image(path, options);
        for (index_t t = 0; t < reader->metadata().frames; ++t)
            for (index_t c = 0; c < reader->metadata().channels; ++c) read_channel(*reader, t, c);
    } catch (const Expected& error) {
        return error.what();
    }
    return "";
}

}  // namespace convolume::testing
