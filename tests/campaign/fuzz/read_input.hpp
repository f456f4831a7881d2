// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads an image as fuzz targets do.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "convolume/error.hpp"
#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"

namespace convolume::testing {

/// Bytes of the largest image whose samples are read: larger ones take long, and test nothing more.
constexpr index_t most_bytes = index_t{1} << 20;

/// Reads the metadata of an image, and the samples of its last volume if the image is small enough.
inline void read_image(const std::string& path, index_t most = most_bytes) {
    const auto reader = io::open_image(path);
    const io::ImageMetadata& metadata = reader->metadata();
    static_cast<void>(to_string(metadata));
    if (metadata.bytes() > most) return;
    Volume volume(metadata.shape, metadata.type);
    reader->read(metadata.frames - 1, metadata.channels - 1, volume.view());
}

/// Reads a file with these bytes, which may be refused. Each file is a new one, because HDF5 may
/// have cached an earlier one.
inline void read_image(const std::uint8_t* data, std::size_t size, index_t most = most_bytes) {
    const int descriptor = ::memfd_create("input", MFD_CLOEXEC);
    if (descriptor < 0 || ::write(descriptor, data, size) != static_cast<ssize_t>(size))
        std::abort();
    try {
        read_image("/proc/self/fd/" + std::to_string(descriptor), most);
    } catch (const Error&) {
    }
    ::close(descriptor);
}

}  // namespace convolume::testing
