// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers and voxel sizes as text.

#include <array>
#include <optional>
#include <string>

namespace convolume {

/// Lengths of a voxel's edges along z, y and x, where they are known.
using KnownVoxelSize = std::array<std::optional<double>, 3>;

/// Returns the number with `digits` significant digits, without trailing zeros.
std::string format_number(double value, int digits = 6);
/// Returns a text such as "voxel z,y,x 0.2×0.1×0.1 µm", with '?' for an unknown axis, or "voxel
/// size unknown" if all are.
std::string format_voxel_size(const KnownVoxelSize& size_um);

/// Returns a name in quotation marks, or `other` for an empty one.
std::string name_or(const std::string& name, const char* other);

}  // namespace convolume
