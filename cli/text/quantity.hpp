// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lengths, wavelengths and extents as people type them. Every parser throws InvalidArgument that
// names `option`.

#include <array>
#include <string>
#include <string_view>

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

}  // namespace convolume::cli
