// SPDX-License-Identifier: Apache-2.0
#include "operations/views/transforms.hpp"

#include <cmath>

#include "convolume/error.hpp"
#include "convolume/transform_file.hpp"
#include "operations/number_text.hpp"

namespace convolume {

namespace {

const VoxelSize& voxel_of(const ViewTransforms& views, std::size_t v) {
    if (!views.voxels[v])
        throw InvalidArgument(sentence("\"", views.names[v],
                                       "\" does not say its voxel size, by which lengths become "
                                       "voxels; give it by ",
                                       OptionName{"voxel"}, ", or give transforms in voxels"));
    return *views.voxels[v];
}

// Returns the map of view v to the common space: that of the first view, or of all files.
VoxelMap to_common(const ViewTransforms& views, std::size_t v) {
    const bool has_first = views.files.size() == views.names.size();
    if (views.files.empty() || (v == 0 && !has_first)) return {};
    const std::string& path = views.files[has_first ? v : v - 1];
    const io::FileTransform found = io::read_transform(path);
    if (!found.in_voxels && views.unit == TransformUnit::unknown)
        throw InvalidArgument(message("the transform \"", path,
                                      "\" does not say whether it is in µm or in voxels; add "
                                      "--transform-unit um or voxel"));
    if (found.in_voxels || views.unit == TransformUnit::voxel) return found.map;
    return between_voxels(found.map, voxel_of(views, v), voxel_of(views, 0));
}

}  // namespace

void check_view_values(const char* option, std::size_t given, std::size_t views,
                       bool but_the_first) {
    if (given <= 1 || given == views || (but_the_first && given + 1 == views)) return;
    throw InvalidArgument(message("there are ", views, " views, but ", option, " is given ", given,
                                  " times; give it once for each view"));
}

void check_view_transforms(const char* option, std::size_t given, std::size_t views) {
    if (given == 1 && views > 2)
        throw InvalidArgument(
            message(option, " is given once for several views; give it for each"));
    check_view_values(option, given, views, true);
}

void check_view_counts(const ViewCounts& given) {
    if (given.psfs == 0)
        throw InvalidArgument("the views have no point spread function; add --psf");
    check_view_values("--psf", given.psfs, given.views);
    check_view_values(given.mask_option, given.masks, given.views);
    check_view_values("--background", given.backgrounds, given.views);
    check_view_values("--light", given.lights, given.views);
    check_view_transforms("--transform", given.transforms, given.views);
}

std::vector<VoxelMap> read_view_maps(const ViewTransforms& views) {
    std::vector<VoxelMap> maps;
    for (std::size_t v = 0; v < views.names.size(); ++v) maps.push_back(to_common(views, v));
    const VoxelMap to_result = composed(views.first_to_result, inverse(maps[0]));
    for (VoxelMap& map : maps) map = composed(to_result, map);
    maps[0] = views.first_to_result;  // without the rounding of an inverse
    return maps;
}

CoveringGrid covering_grid(const Shape3& shape, const VoxelSize& from, const VoxelSize& to,
                           const char* option) {
    CoveringGrid grid;
    for (int a = 0; a < 3; ++a) {
        const double extent = static_cast<double>(shape[a] - 1) * from[a] / to[a];
        if (!(extent < 1e12))
            throw InvalidArgument(
                message("the result would have more than 1e12 voxels along an "
                        "axis; check ",
                        option));
        grid.shape[a] = static_cast<index_t>(std::floor(extent + 1e-9)) + 1;
        grid.map.matrix[static_cast<std::size_t>(a)][static_cast<std::size_t>(a)] = from[a] / to[a];
    }
    return grid;
}

std::optional<VoxelSize> known_voxel(const io::ImageMetadata& image) {
    const auto& size = image.voxel_size_um;
    if (!size[0] || !size[1] || !size[2]) return {};
    return VoxelSize{*size[0], *size[1], *size[2]};
}

CoveringGrid cube_grid(const io::ImageMetadata& image, const std::string& name, double edge_um,
                       const char* option) {
    const std::optional<VoxelSize> voxel = known_voxel(image);
    if (!voxel)
        throw InvalidArgument(message(option, " needs the voxel size of ",
                                      name_or(name, "the image"),
                                      ", which does not say it; save it with its voxel size"));
    return covering_grid(image.shape, *voxel, {edge_um, edge_um, edge_um}, option);
}

}  // namespace convolume
