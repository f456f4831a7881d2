// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads where several views of one object lie, as maps from the voxels of each view to those of the
// result.

#include <optional>
#include <string>
#include <vector>

#include "convolume/image_file.hpp"
#include "convolume/shape.hpp"
#include "convolume/voxel_map.hpp"

namespace convolume {

/// Unit of the positions that a file of a transform maps, if the format does not say it.
enum class TransformUnit { unknown, um, voxel };

/// Files of transforms, and the grids between which they map.
struct ViewTransforms {
    /// None: all views have the same voxels. One for each view but the first: to the first view.
    /// One for each view: to a common space.
    std::vector<std::string> files;
    TransformUnit unit = TransformUnit::unknown;
    std::vector<std::string> names;                ///< names of the views in messages
    std::vector<std::optional<VoxelSize>> voxels;  ///< of each view; nothing if not known
    VoxelMap first_to_result{};  ///< from voxels of the first view to those of the result
};

/// Throws InvalidArgument unless `given` values of `option` suit a number of views: none, one for
/// all, one for each, or (`but_the_first`) one for each but the first.
void check_view_values(const char* option, std::size_t given, std::size_t views,
                       bool but_the_first = false);

/// Throws InvalidArgument if one file of a transform is given for three views or more.
void check_view_transforms(const char* option, std::size_t given, std::size_t views);

/// Numbers of values that a user gives for several views.
struct ViewCounts {
    std::size_t views = 1, psfs = 0, masks = 0, backgrounds = 0, lights = 0, transforms = 0;
    const char* mask_option = "--mask";  ///< name of the option of masks
};

/// Throws InvalidArgument if views have no PSF, or a number of values does not suit them.
void check_view_counts(const ViewCounts& given);

/// Reads the maps from the voxels of each view to those of the result. Throws InvalidArgument if a
/// unit or a voxel size is missing, and the errors of io::read_transform().
std::vector<VoxelMap> read_view_maps(const ViewTransforms& views);

/// A grid of voxels that begins at the center of another grid's first voxel.
struct CoveringGrid {
    Shape3 shape;
    VoxelMap map;  ///< from voxels of the other grid
};

/// Returns the grid with edges `to` whose voxels have their centers within `shape` voxels of edges
/// `from`. Throws InvalidArgument, naming `option`, if that is more than 1e12 voxels along an axis.
CoveringGrid covering_grid(const Shape3& shape, const VoxelSize& from, const VoxelSize& to,
                           const char* option);

/// Returns the edges of the voxels of an image if all are known.
std::optional<VoxelSize> known_voxel(const io::ImageMetadata& image);

/// Returns the covering grid of cubes with this edge. Throws InvalidArgument if the voxel size of
/// the image `name` is not known.
CoveringGrid cube_grid(const io::ImageMetadata& image, const std::string& name, double edge_um,
                       const char* option);

}  // namespace convolume
