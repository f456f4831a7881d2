// SPDX-License-Identifier: Apache-2.0
#pragma once
// Quantities as people type and read them. Every parser throws InvalidArgument that names `option`.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "convolume/image_file.hpp"
#include "convolume/shape.hpp"

namespace convolume::cli {

/// "2um", "1.5 µm", "170000nm", "0.2mm" in µm; a unit is required.
double parse_length_um(std::string_view option, std::string_view text);

/// "200,65,65nm" (one unit for all) or "0.2um,65nm,65nm": z, y, x in µm.
std::array<double, 3> parse_lengths_um(std::string_view option, std::string_view text);

/// Asks whether lengths of a voxel are meant, if all are below 1 nm or one is above 1 mm, as when
/// the unit is wrong: a sentence, with what was probably meant. Empty for others.
std::string doubt_of_voxel(std::string_view option, std::string_view text);

/// A length with its unit, or a bare number that can only mean one: 0.2 to 2 are µm, 200 to 2000
/// are nm.
double parse_wavelength_um(std::string_view option, std::string_view text);

/// "64,256,256": z, y, x, each at least 1.
Shape3 parse_extents(std::string_view option, std::string_view text);

/// `digits` significant ones, no trailing zeros.
std::string format_number(double value, int digits = 6);
/// "0.034 s", "12.3 s", "3 min 20 s", "2 h 5 min".
std::string format_duration(double seconds);
/// "voxel z,y,x 0.2×0.1×0.1 µm", '?' where an axis is unknown; "voxel size unknown" where all are.
std::string format_voxel_size(const std::array<std::optional<double>, 3>& size_um);
/// "OME-TIFF, 3 frames, 2 channels, z,y,x 32×64×64 uint16, voxel …"
std::string one_line(const io::ImageMetadata& metadata);

}  // namespace convolume::cli
