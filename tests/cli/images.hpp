// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads and writes image files as the oracle's arrays.

#include <string>
#include <vector>

#include "convolume/image_file.hpp"
#include "tests/support/array.hpp"

namespace convolume::testing {

struct ImageFile {
    io::ImageMetadata metadata;
    std::vector<Array> volumes;  ///< volumes in order of time, then channel

    const Array& only() const { return volumes.at(0); }
};

/// Writes a file with one volume.
void write_image(const std::string& path, const Array& array, PixelType type);
/// Writes a file of several volumes with `metadata`, whose shape is set to that of a volume.
void write_image(const std::string& path, const std::vector<Array>& volumes,
                 io::ImageMetadata metadata);

ImageFile read_image(const std::string& path);

/// Returns `array` times `factor`.
Array scaled(Array array, double factor);
Complex sum_of(const Array& array);

}  // namespace convolume::testing
