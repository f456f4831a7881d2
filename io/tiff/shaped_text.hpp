// SPDX-License-Identifier: Apache-2.0
#pragma once
// tifffile's {"shape": [3, 64, 64]} in the ImageDescription.

#include <array>
#include <optional>

#include "convolume/image_file.hpp"
#include "io/tiff/pages.hpp"
#include "io/tiff/stack.hpp"

namespace convolume::io {

/// The planes named by `description`, nothing when it is no such text or does not fit `page`. Sets
/// voxel sizes when it names spacing and unit. `pixels_per_unit`: y and x of the resolution tags.
std::optional<TiffStack> shaped_stack(const std::string& description, const TiffPage& page,
                                      const std::array<double, 2>& pixels_per_unit,
                                      ImageMetadata& metadata);

}  // namespace convolume::io
