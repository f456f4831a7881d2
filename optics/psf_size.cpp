// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "convolume/error.hpp"
#include "convolume/psf.hpp"
#include "optics/axis_light.hpp"
#include "optics/check.hpp"
#include "optics/plane_light.hpp"

namespace convolume {

namespace {

constexpr double most_voxels = double{1ull << 30};  // 4 GiB of float32

// The odd number of voxels that reach `half_um` to either side.
double odd_extent(double half_um, double voxel_um) {
    return 2 * std::max(0.0, std::ceil(half_um / voxel_um - 0.5)) + 1;
}

// Refuses what no memory holds before it takes that memory.
Shape3 shape_of(const PsfOptions& options, double share, double half_depth_um, double radius_um) {
    const VoxelSize& voxel = options.voxel;
    const double z = odd_extent(half_depth_um, voxel.z_um);
    const double y = odd_extent(radius_um, voxel.y_um), x = odd_extent(radius_um, voxel.x_um);
    if (!(z * y * x <= most_voxels))
        throw InvalidArgument(
            message("to hold ", 100 * share, " % of the light the PSF would need more than 4 GiB, ",
                    z, " × ", y, " × ", x,
                    " voxels or more: ask for a smaller share or larger voxels, or give a size"));
    return {static_cast<index_t>(z), static_cast<index_t>(y), static_cast<index_t>(x)};
}

}  // namespace

Shape3 psf_size_for(const PsfOptions& options, double share, const ExecutionContext& context) {
    optics::check_lens(options);
    optics::check_grid(options);
    if (!(share > 0 && share < 1))
        throw InvalidArgument(message("a share of ", share,
                                      " of the light is not possible: give more than 0 and less "
                                      "than 1"));
    const double center =
        options.center_z_um ? *options.center_z_um : brightest_focus_um(options, context);
    const double half_depth = optics::half_depth_for(options, center, share, context);
    // Light widens with the distance from the focus, unevenly only near it.
    constexpr int planes = 8;
    std::vector<double> zs;
    for (int i = -planes; i <= planes; ++i) zs.push_back(center + half_depth * i / planes);
    double reach = options.wavelength_um / options.objective.na;
    if (options.modality != Modality::confocal)
        for (const double z : zs) reach = std::max(reach, optics::ray_radius_um(options, z, share));
    for (;; reach *= 2) {
        static_cast<void>(shape_of(options, share, half_depth, reach / 2));
        const auto light =
            optics::plane_light(options, zs, reach, optics::thread_count(options), context);
        double radius = 0;
        bool all = true;
        for (const optics::PlaneLight& plane : light) {
            const double found = plane.radius_of(share);
            all = all && found >= 0;
            radius = std::max(radius, found);
        }
        if (all) return shape_of(options, share, half_depth, radius);
    }
}

}  // namespace convolume
