// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parses and formats quantities. Every parser throws InvalidArgument that names `option`.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/image_file.hpp"
#include "convolume/shape.hpp"
#include "operations/number_text.hpp"

namespace convolume::cli {

/// Parses "2um", "1.5 µm", "170000nm" or "0.2mm" into µm; a unit is required.
double parse_length_um(std::string_view option, std::string_view text);

/// Returns a length with its unit, such as "5um", in µm. Returns nothing for other texts.
std::optional<double> length_um(std::string_view text);

/// Parses "0,3,6,10um" (one unit for all) or "500nm,2um" into µm. The list may have any length.
std::vector<double> parse_depths_um(std::string_view option, std::string_view text);

/// Parses "200,65,65nm" (one unit for all) or "0.2um,65nm,65nm" into z, y, x in µm.
std::array<double, 3> parse_lengths_um(std::string_view option, std::string_view text);

/// Returns a warning if all lengths of a voxel are below 1 nm, or one is above 1 mm or negative, as
/// with a wrong unit, or if y and x differ, as with another order. It suggests what was probably
/// meant. Returns an empty text for other lengths.
std::string voxel_size_warning(std::string_view option, std::string_view text);

/// Parses a length into µm. A number without a unit is in µm from 0.2 to 2, in nm from 200 to 2000.
double parse_wavelength_um(std::string_view option, std::string_view text);

/// Parses "64,256,256": z, y, x, each at least 1.
Shape3 parse_extents(std::string_view option, std::string_view text);

/// Returns the number of characters of a UTF-8 text.
std::size_t count_characters(std::string_view utf8);
/// Returns a time such as "0.034 s", "12.3 s", "3 min 20 s" or "2 h 5 min".
std::string format_duration(double seconds);
/// Describes an image: "OME-TIFF, 3 frames, 2 channels, z,y,x 32×64×64 uint16, voxel …".
std::string one_line(const io::ImageMetadata& metadata);

}  // namespace convolume::cli
