// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "convolume/error.hpp"
#include "core/threads.hpp"
#include "optics/psf_light.hpp"
#include "optics/psf_options.hpp"
#include "optics/response.hpp"
#include "optics/sampling.hpp"

namespace convolume {

namespace {

/// Samples of a plane along y and x that are computed: those from the axis on, which mirror to the
/// others, or all of a skewed PSF, whose planes are displaced from the axis.
struct ComputedPlane {
    index_t height, width;
    index_t first_y = 0, first_x = 0;  ///< their first voxels, as distances from the middle one
    bool is_mirrored = true;

    explicit ComputedPlane(const PsfOptions& options)
        : height(options.size.y / 2 + 1), width(options.size.x / 2 + 1) {
        if (!options.scan()) return;
        first_y = -(options.size.y / 2);
        first_x = -(options.size.x / 2);
        height = options.size.y;
        width = options.size.x;
        is_mirrored = false;
    }
    /// Returns how often a sample occurs in the whole plane.
    int occurrences(index_t y, index_t x) const {
        return is_mirrored ? (y > 0 ? 2 : 1) * (x > 0 ? 2 : 1) : 1;
    }
};

// Returns the coordinates of the sample points in voxels `first`, `first` + 1, … along one axis,
// displaced by `shift` voxels. The nodes of `rule` are repeated in each voxel.
std::vector<double> sample_points(index_t first, index_t voxels, double voxel_um, double shift,
                                  const optics::Quadrature& rule) {
    std::vector<double> points;
    for (index_t i = first; i < first + voxels; ++i)
        for (const double node : rule.nodes)
            points.push_back((static_cast<double>(i) + shift + node) * voxel_um);
    return points;
}

/// Points of a plane at which intensities are sampled.
struct PlanePoints {
    std::vector<double> ys, xs;
};

// Returns the sample points of the plane `planes` after the middle one.
PlanePoints points_of(const PsfOptions& options, const ComputedPlane& plane, index_t planes,
                      const optics::Quadrature& rule) {
    double shift_y = 0, shift_x = 0;
    if (const auto scan = options.scan())
        (scan->axis == ShearAxis::y ? shift_y : shift_x) =
            static_cast<double>(planes) * scan->shear_px();
    const VoxelSize& voxel = options.voxel;
    return {sample_points(plane.first_y, plane.height, voxel.y_um, shift_y, rule),
            sample_points(plane.first_x, plane.width, voxel.x_um, shift_x, rule)};
}

double largest_magnitude(const std::vector<double>& points) {
    return std::max(std::abs(points.front()), std::abs(points.back()));
}

// Fills the computed part of one plane with means over voxels, interpolated from the radial
// profile.
void fill_plane(const optics::RadialGrid& grid, const double* profile,
                const optics::Quadrature& rule, const PlanePoints& at, double* values,
                const ExecutionContext& context) {
    const std::size_t points = rule.nodes.size();
    for (std::size_t y = 0; y < at.ys.size() && !context.stop.stop_requested(); y += points)
        for (std::size_t x = 0; x < at.xs.size(); x += points) {
            double mean = 0;
            for (std::size_t i = 0; i < points; ++i)
                for (std::size_t j = 0; j < points; ++j) {
                    const double radius =
                        std::sqrt(at.ys[y + i] * at.ys[y + i] + at.xs[x + j] * at.xs[x + j]);
                    mean += rule.weights[i] * rule.weights[j] * grid.interpolate(profile, radius);
                }
            *values++ = std::max(mean, 0.0);  // interpolation may fall below zero at dark rings
        }
}

// Returns the sum over the whole plane of which `values` are computed.
double plane_sum(const double* values, const ComputedPlane& plane) {
    double sum = 0;
    for (index_t y = 0; y < plane.height; ++y)
        for (index_t x = 0; x < plane.width; ++x)
            sum += values[y * plane.width + x] * plane.occurrences(y, x);
    return sum;
}

void store_plane(const double* values, const ComputedPlane& computed, double scale, float* plane) {
    const index_t height = computed.height, width = computed.width;
    if (!computed.is_mirrored) {
        for (index_t i = 0; i < height * width; ++i)
            plane[i] = static_cast<float>(scale * values[i]);
        return;
    }
    for (index_t y = 1 - height; y < height; ++y)
        for (index_t x = 1 - width; x < width; ++x)
            *plane++ = static_cast<float>(scale * values[std::abs(y) * width + std::abs(x)]);
}

// Returns the share of each plane's light that lies in the volume.
std::vector<double> captured_shares(const PsfOptions& options, double center_um, int threads,
                                    const ExecutionContext& context) {
    const VoxelSize& voxel = options.voxel;
    const Shape3 size = options.size;
    std::vector<double> zs;
    for (index_t z = 0; z < size.z; ++z)
        zs.push_back(center_um - static_cast<double>(z - size.z / 2) * options.plane_distance_um());
    const double half_y = voxel.y_um * static_cast<double>(size.y) / 2;
    const double half_x = voxel.x_um * static_cast<double>(size.x) / 2;
    const std::vector<optics::PlaneLight> planes =
        optics::plane_light(options, zs, std::hypot(half_y, half_x), threads, context);
    std::vector<double> shares;
    for (index_t z = 0; z < size.z; ++z) {
        // Of a displaced plane, the light counts up to the nearer edge.
        double near_y = half_y, near_x = half_x;
        if (const auto scan = options.scan()) {
            const double shift_um = std::abs(static_cast<double>(z - size.z / 2) *
                                             scan->shear_px() * scan->sheared_pixel_um());
            double& near = scan->axis == ShearAxis::y ? near_y : near_x;
            near = std::max(0.0, near - shift_um);
        }
        shares.push_back(planes[static_cast<std::size_t>(z)].share_of(near_y, near_x));
    }
    return shares;
}

}  // namespace

Psf make_psf(const PsfOptions& options, const ExecutionContext& context) {
    optics::check_lens(options);
    optics::check_grid(options);
    const Shape3 size = options.size;
    const index_t middle = size.z / 2;
    const ComputedPlane computed(options);
    const int threads = thread_count(options.threads);
    Volume psf(size, PixelType::float32);

    const double distance = options.plane_distance_um();
    const optics::Quadrature rule =
        optics::gauss_legendre(options.oversampling, -0.5, 0.5, context);
    const double center =
        options.center_z_um ? *options.center_z_um : brightest_focus_um(options, context);
    const double half_depth = distance * static_cast<double>(size.z) / 2;
    // The last planes are displaced farthest, to either side by the same distance.
    const PlanePoints last = points_of(options, computed, middle, rule);
    const double farthest = std::hypot(largest_magnitude(last.ys), largest_magnitude(last.xs));
    const optics::RadialGrid grid(optics::intensity_band(options), farthest);
    const optics::MicroscopeResponse response(options,
                                              {farthest, center - half_depth, center + half_depth},
                                              grid.radii(), threads, context);

    const index_t plane_elems = computed.height * computed.width;
    Volume planes({size.z, computed.height, computed.width}, PixelType::float64);
    const index_t scratch_elems = response.scratch_elems() + grid.count();
    std::vector<double> scratch(static_cast<std::size_t>(checked_multiply(threads, scratch_elems)));
    std::vector<double> sums(static_cast<std::size_t>(size.z));
    double* const values = planes.elements<double>();
    std::mutex progress_mutex;
    index_t done = 0;
    parallel_for(size.z, threads, [&](index_t z, int thread) {
        if (context.stop.stop_requested()) return;
        double* const mean = scratch.data() + thread * scratch_elems;
        std::fill_n(mean, grid.count(), 0.0);
        for (std::size_t i = 0; i < rule.nodes.size(); ++i) {
            const double from_middle = static_cast<double>(z - middle) + rule.nodes[i];
            response.add_intensity(center - from_middle * distance, rule.weights[i],
                                   mean + grid.count(), mean);
        }
        fill_plane(grid, mean, rule, points_of(options, computed, z - middle, rule),
                   values + z * plane_elems, context);
        sums[static_cast<std::size_t>(z)] = plane_sum(values + z * plane_elems, computed);
        if (context.progress) {
            const std::lock_guard lock(progress_mutex);
            context.progress(static_cast<double>(++done) / static_cast<double>(size.z));
        }
    });
    throw_if_stopped(context);

    double total = 0;
    for (const double sum : sums) total += sum;
    if (!(total > 0))
        throw InvalidArgument("no light reaches the PSF's volume: center it on the focus");
    float* const out = psf.elements<float>();
    parallel_for(size.z, threads, [&](index_t z, int) {
        store_plane(values + z * plane_elems, computed, 1 / total, out + z * size.y * size.x);
    });
    return {std::move(psf), center, captured_shares(options, center, threads, context)};
}

}  // namespace convolume
