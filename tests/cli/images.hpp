// SPDX-License-Identifier: Apache-2.0
#pragma once
// Image files as the oracle's arrays.

#include <string>
#include <vector>

#include "convolume/image_file.hpp"
#include "tests/support/array.hpp"

namespace convolume::testing {

struct ImageFile {
    io::ImageMetadata metadata;
    std::vector<Array> volumes;  ///< t slowest, then c

    const Array& only() const { return volumes.at(0); }
};

/// Writes one stack.
void write_image(const std::string& path, const Array& array, PixelType type);
/// Writes all volumes as `metadata` says; its shape is taken from the first.
void write_image(const std::string& path, const std::vector<Array>& volumes,
                 io::ImageMetadata metadata);

ImageFile read_image(const std::string& path);

/// `array` times `factor`.
Array scaled(Array array, double factor);
Complex sum_of(const Array& array);

}  // namespace convolume::testing
