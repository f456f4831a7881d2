// SPDX-License-Identifier: Apache-2.0
#pragma once
// What targets do with an image.

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

/// Larger ones take their time to be filled with zeros, and tell nothing else.
constexpr index_t most_bytes = index_t{1} << 20;

/// The metadata of an image, and the samples of its last volume if it has no more bytes.
inline void read_image(const std::string& path, index_t most = most_bytes) {
    const auto reader = io::open_image(path);
    const io::ImageMetadata& metadata = reader->metadata();
    static_cast<void>(to_string(metadata));
    if (metadata.bytes() > most) return;
    Volume volume(metadata.shape, metadata.type);
    reader->read(metadata.frames - 1, metadata.channels - 1, volume.view());
}

/// The same of a file of these bytes, or nothing where it is refused. The file is never one of
/// before, which HDF5 may still know.
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
