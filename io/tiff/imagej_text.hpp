// SPDX-License-Identifier: Apache-2.0
#pragma once
// ImageJ's "ImageJ=1.53\nimages=61\n…" in the ImageDescription, and its private metadata tag.

#include "convolume/image_file.hpp"
#include "io/tiff/stack.hpp"

namespace convolume::io {

bool is_imagej_description(const std::string& description);

/// The planes as frames, slices and channels (channels fastest unless `order` says otherwise).
TiffStack imagej_stack(const std::string& description);

/// Sets unit, voxel sizes, frame interval and the scaling of values. `pixels_per_unit` are y and x
/// of the resolution tags, 0 where they are missing.
void read_imagej_calibration(const std::string& description,
                             const std::array<double, 2>& pixels_per_unit, ImageMetadata& metadata);

/// The description of a file that holds `metadata`'s planes with channels fastest. What the
/// source's description says beyond shape and calibration is carried over.
std::string imagej_description(const ImageMetadata& metadata);

/// The word for lengths in that description, and µm in one of it.
struct ImagejUnit {
    std::string name;  ///< empty: the voxel size is unknown
    double micrometers = 1;
};
ImagejUnit imagej_unit(const ImageMetadata& metadata);

/// Reverses the byte order of the content of tag 50839; `counts` is tag 50838. Leaves `data` empty
/// when they contradict each other.
void swap_imagej_metadata(std::vector<std::uint8_t>& data,
                          const std::vector<std::uint32_t>& counts);

/// Colors 0xRRGGBB at the bright end of the lookup tables in tag 50839, one for each channel; empty
/// where it has none.
std::vector<std::uint32_t> imagej_colors(const ImageMetadata& metadata);

/// Where two or more channels have colors and the metadata no tag 50839: one with a lookup table
/// for each channel, from black to its color.
void add_imagej_tables(ImageMetadata& metadata);

}  // namespace convolume::io
