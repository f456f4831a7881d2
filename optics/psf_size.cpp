// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "convolume/error.hpp"
#include "convolume/psf.hpp"
#include "core/threads.hpp"
#include "optics/lens.hpp"
#include "optics/psf_light.hpp"
#include "optics/psf_options.hpp"

namespace convolume {

namespace {

constexpr double max_voxels = double{1ull << 30};  // largest PSF: 4 GiB of float32

// Returns the odd number of voxels that reach `half_um` to either side of the center.
double odd_extent(double half_um, double voxel_um) {
    return 2 * std::max(0.0, std::ceil(half_um / voxel_um - 0.5)) + 1;
}

// Returns the size in voxels. Throws InvalidArgument if such a PSF would need too much memory.
Shape3 shape_of(const PsfOptions& options, double share, double half_depth_um, double radius_um) {
    const VoxelSize& voxel = options.voxel;
    const double z = odd_extent(half_depth_um, voxel.z_um);
    const double y = odd_extent(radius_um, voxel.y_um), x = odd_extent(radius_um, voxel.x_um);
    if (!(z * y * x <= max_voxels))
        throw InvalidArgument(
            message("to hold ", 100 * share, " % of the light the PSF would need more than 4 GiB, ",
                    z, " × ", y, " × ", x,
                    " voxels or more: ask for a smaller share or larger voxels, or give a size"));
    return {static_cast<index_t>(z), static_cast<index_t>(y), static_cast<index_t>(x)};
}

// Returns the radius that holds `share` of the light of every plane up to `half_depth_um` from the
// center, at most `most_um`. `check_radius` throws for radii that are too large.
double radius_of(const PsfOptions& options, double center_um, double half_depth_um, double share,
                 double most_um, const std::function<void(double)>& check_radius,
                 const ExecutionContext& context) {
    // A few planes suffice: away from the focus, the radius grows evenly with the distance.
    constexpr int planes = 8;
    std::vector<double> zs;
    for (int i = -planes; i <= planes; ++i) zs.push_back(center_um + half_depth_um * i / planes);
    double reach = options.wavelength_um / options.objective.na;
    if (!optics::is_product(options.modality))
        for (const double z : zs) reach = std::max(reach, optics::ray_radius_um(options, z, share));
    for (;; reach *= 2) {
        reach = std::min(reach, most_um);
        check_radius(reach / 2);
        double radius = 0;
        bool all = true;
        for (const optics::PlaneLight& plane :
             optics::plane_light(options, zs, reach, thread_count(options.threads), context)) {
            const double found = plane.radius_of(share);
            all = all && found >= 0;
            radius = std::max(radius, found);
        }
        if (all) return radius;
        if (reach >= most_um) return most_um;
    }
}

// Returns half the depth, from `least_um` to `most_um`, beyond which planes hold little light. If a
// lens lights the whole sample, all planes hold the same light.
double lit_half_depth_um(const PsfOptions& options, double center_um, double least_um,
                         double most_um, const ExecutionContext& context) {
    constexpr double little = 0.05;  // little light, as a share of the middle plane's light
    const auto light = [&](double z_um) {
        return optics::plane_light(options, {z_um}, 0, thread_count(options.threads), context)[0]
            .total;
    };
    const double middle = light(center_um);
    double half = least_um;
    while (half < most_um &&
           std::max(light(center_um - half), light(center_um + half)) > little * middle)
        half *= 1.1;
    return std::min(half, most_um);
}

void check_request(const PsfOptions& options, double share) {
    optics::check_lens(options);
    optics::check_grid(options);
    if (!(share > 0 && share < 1))
        throw InvalidArgument(message("a share of ", share,
                                      " of the light is not possible: give more than 0 and less "
                                      "than 1"));
}

double center_of(const PsfOptions& options, const ExecutionContext& context) {
    return options.center_z_um ? *options.center_z_um : brightest_focus_um(options, context);
}

// Returns the options of the PSF whose planes are not displaced.
PsfOptions straight(const PsfOptions& options) {
    PsfOptions made = options;
    made.voxel.z_um = options.plane_distance_um();
    made.scan_angle_deg.reset();
    return made;
}

// Returns the size of a skewed PSF whose planes hold as much as those of a straight one of `size`.
Shape3 skewed_size(const PsfOptions& options, Shape3 size) {
    const StageScan scan = *options.scan();
    const double shift = std::abs(scan.shear_px()) * static_cast<double>(size.z / 2);
    if (!(shift * static_cast<double>(size.z) < max_voxels))
        throw InvalidArgument(
            "the PSF would need more than 4 GiB, as planes of the scan are displaced that far: "
            "check step, angle and voxel sizes");
    size[scan.axis == ShearAxis::y ? 1 : 2] += 2 * static_cast<index_t>(std::ceil(shift));
    return size;
}

}  // namespace

Shape3 psf_size_for(const PsfOptions& options, double share, const ExecutionContext& context) {
    check_request(options, share);
    if (options.scan())
        return skewed_size(options, psf_size_for(straight(options), share, context));
    const double center = center_of(options, context);
    const double half_depth = optics::half_depth_for(options, center, share, context);
    const double radius = radius_of(
        options, center, half_depth, share, std::numeric_limits<double>::infinity(),
        [&](double least) { static_cast<void>(shape_of(options, share, half_depth, least)); },
        context);
    return shape_of(options, share, half_depth, radius);
}

Shape3 psf_size_for_image(const PsfOptions& options, const Shape3& image, double share,
                          const ExecutionContext& context) {
    check_request(options, share);
    Shape3 most;  // largest useful extents: samples beyond them would meet no pixel
    for (int axis = 0; axis < 3; ++axis) {
        if (image[axis] < 1 || image[axis] > std::numeric_limits<index_t>::max() / 2)
            throw InvalidArgument(message("an image of ", image[axis], " pixels along ",
                                          axis_name(axis), " has no PSF: give at least 1"));
        most[axis] = 2 * image[axis] - 1;
    }
    if (options.scan()) {
        Shape3 size =
            skewed_size(options, psf_size_for_image(straight(options), image, share, context));
        for (int axis = 0; axis < 3; ++axis) size[axis] = std::min(size[axis], most[axis]);
        return size;
    }
    const VoxelSize& voxel = options.voxel;
    const auto extent = [&](double half_um, int axis) {
        const double wanted = odd_extent(half_um, voxel[axis]);
        return wanted < static_cast<double>(most[axis]) ? static_cast<index_t>(wanted) : most[axis];
    };
    const double center = center_of(options, context);
    const double half_depth =
        lit_half_depth_um(options, center, optics::half_depth_for(options, center, share, context),
                          voxel.z_um * static_cast<double>(most.z) / 2, context);
    Shape3 size;
    size.z = extent(half_depth, 0);
    const double farthest = std::hypot(voxel.y_um * static_cast<double>(most.y),
                                       voxel.x_um * static_cast<double>(most.x)) /
                            2;
    const double radius = radius_of(
        options, center, half_depth, share, farthest, [](double) {}, context);
    size.y = extent(radius, 1);
    size.x = extent(radius, 2);
    if (!(static_cast<double>(size.z) * static_cast<double>(size.y) * static_cast<double>(size.x) <=
          max_voxels))
        throw InvalidArgument(message("for this image the PSF would need more than 4 GiB, ",
                                      to_string(size),
                                      " voxels: ask for a smaller share of the light, or give a "
                                      "size"));
    return size;
}

}  // namespace convolume
