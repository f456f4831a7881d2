// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tags read past libtiff: exact rationals and ImageJ's private metadata.

#include <array>

#include "convolume/image_file.hpp"
#include "io/raw_file.hpp"
#include "io/tiff/handle.hpp"

namespace convolume::io {

constexpr std::uint32_t tag_imagej_counts = 50838;
constexpr std::uint32_t tag_imagej_metadata = 50839;

/// Y and X resolution of the directory at `directory`, 0 where missing. libtiff gives them in
/// single precision, which turns 0.1 µm into 0.10000000149.
std::array<double, 2> read_resolution(const RawFile& file, std::uint64_t directory);

/// Offset of the directory after the one at `directory`, 0 for none. Throws BadData where the file
/// ends before it says; libtiff takes that for the last directory.
std::uint64_t next_directory(const RawFile& file, std::uint64_t directory);

/// Tags 50838 and 50839 of the current directory, in this machine's byte order; left empty where
/// they are missing or contradict each other.
void read_imagej_tags(const TiffHandle& tiff, ImageMetadata& metadata);

}  // namespace convolume::io
