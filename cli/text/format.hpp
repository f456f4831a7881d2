// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers and facts as people read them.

#include <array>
#include <optional>
#include <string>

#include "convolume/image_file.hpp"

namespace convolume::cli {

/// `digits` significant ones, no trailing zeros.
std::string format_number(double value, int digits = 6);
/// "0.034 s", "12.3 s", "3 min 20 s", "2 h 5 min".
std::string format_duration(double seconds);
/// "voxel z,y,x 0.2×0.1×0.1 µm", '?' where an axis is unknown; "voxel size unknown" where all are.
std::string format_voxel_size(const std::array<std::optional<double>, 3>& size_um);
/// "OME-TIFF, 3 frames, 2 channels, z,y,x 32×64×64 uint16, voxel …"
std::string one_line(const io::ImageMetadata& metadata);

}  // namespace convolume::cli
