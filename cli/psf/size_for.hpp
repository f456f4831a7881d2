// SPDX-License-Identifier: Apache-2.0
#pragma once
// PSFs for an image: voxels and size.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "convolume/image_file.hpp"
#include "convolume/psf.hpp"

namespace convolume::cli {

/// The "voxel_um" of a PSF for `image`. Of an image with one plane z may be unknown. `cure` ends
/// the message where others are. Throws InvalidArgument that names `path`.
nlohmann::ordered_json voxel_for(const io::ImageMetadata& image, const std::string& path,
                                 const char* cure);

/// psf_size_for_image() with the share that was typed. Else it is 0.5 for widefield PSFs, whose far
/// planes are wide, and 0.95 for others.
Shape3 size_for(const PsfOptions& options, const Shape3& image, std::optional<double> share,
                const ExecutionContext& context);

}  // namespace convolume::cli
