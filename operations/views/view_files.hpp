// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files of views: masks, which weigh pixels, and lists of PSFs that vary over the field of view, as
// CSV: a line for the PSF of each place.
//
//     z_um,y_um,x_um,psf
//     3.2,6.4,6.4,slide.0-0-0.tif
//
// Positions count from the center of the first voxel, in µm or, with the head z,y,x,psf, in voxels
// of the recording. Names of files are relative to the folder of the list.

#include <array>
#include <string>
#include <vector>

#include "convolume/image_file.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// The PSF of a place in the field.
struct PlacedPsf {
    std::array<double, 3> at;  ///< z, y, x
    std::string path;
};

struct FieldPsfList {
    std::vector<PlacedPsf> psfs;
    bool in_um = false;  ///< whether positions are in µm, not in voxels
};

/// Returns whether `path` names a list of PSFs (*.csv), and not a PSF.
bool is_field_psf_list(const std::string& path);

/// Reads a list. Throws InputNotFound, or BadData for other content.
FieldPsfList read_field_psfs(const std::string& path);

/// Reads a list for an image, with positions in its voxels. Throws InvalidArgument if the list has
/// positions in µm and the image does not say its voxel size.
std::vector<PlacedPsf> read_field_psfs(const std::string& path, const io::ImageMetadata& image);

/// Returns the text of a list.
std::string field_psfs_text(const FieldPsfList& list);

/// Throws BadData unless an image is one stack of real numbers, with the extents of the view whose
/// pixels it weighs.
void check_view_mask(const std::string& path, const io::ImageMetadata& mask, const Shape3& view);

}  // namespace convolume
