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

// Returns the coordinates of the sample points in voxels 0, 1, … `voxels` − 1 from the middle one
// on, along one axis. The nodes of `rule` are repeated in each voxel.
std::vector<double> sample_points(index_t voxels, double voxel_um, const optics::Quadrature& rule) {
    std::vector<double> points;
    for (index_t i = 0; i < voxels; ++i)
        for (const double node : rule.nodes)
            points.push_back((static_cast<double>(i) + node) * voxel_um);
    return points;
}

// Fills the quadrant y, x >= 0 of one plane with means over voxels, interpolated from the radial
// profile. The other quadrants mirror it.
void fill_quadrant(const optics::RadialGrid& grid, const double* profile,
                   const optics::Quadrature& rule, const std::vector<double>& ys,
                   const std::vector<double>& xs, double* quadrant,
                   const ExecutionContext& context) {
    const std::size_t points = rule.nodes.size();
    for (std::size_t y = 0; y < ys.size() && !context.stop.stop_requested(); y += points)
        for (std::size_t x = 0; x < xs.size(); x += points) {
            double mean = 0;
            for (std::size_t i = 0; i < points; ++i)
                for (std::size_t j = 0; j < points; ++j) {
                    const double radius = std::sqrt(ys[y + i] * ys[y + i] + xs[x + j] * xs[x + j]);
                    mean += rule.weights[i] * rule.weights[j] * grid.interpolate(profile, radius);
                }
            *quadrant++ = std::max(mean, 0.0);  // interpolation may fall below zero at dark rings
        }
}

// Returns the sum over the whole plane of which `quadrant` is a quarter.
double plane_sum(const double* quadrant, index_t height, index_t width) {
    double sum = 0;
    for (index_t y = 0; y < height; ++y)
        for (index_t x = 0; x < width; ++x)
            sum += quadrant[y * width + x] * (y > 0 ? 2 : 1) * (x > 0 ? 2 : 1);
    return sum;
}

void mirror_quadrant(const double* quadrant, index_t height, index_t width, double scale,
                     float* plane) {
    for (index_t y = 1 - height; y < height; ++y)
        for (index_t x = 1 - width; x < width; ++x)
            *plane++ = static_cast<float>(scale * quadrant[std::abs(y) * width + std::abs(x)]);
}

// Returns the share of each plane's light that lies in the volume.
std::vector<double> captured_shares(const PsfOptions& options, double center_um, int threads,
                                    const ExecutionContext& context) {
    const VoxelSize& voxel = options.voxel;
    const Shape3 size = options.size;
    std::vector<double> zs;
    for (index_t z = 0; z < size.z; ++z)
        zs.push_back(center_um - static_cast<double>(z - size.z / 2) * voxel.z_um);
    const double half_y = voxel.y_um * static_cast<double>(size.y) / 2;
    const double half_x = voxel.x_um * static_cast<double>(size.x) / 2;
    std::vector<double> shares;
    for (const optics::PlaneLight& plane :
         optics::plane_light(options, zs, std::hypot(half_y, half_x), threads, context))
        shares.push_back(plane.share_of(half_y, half_x));
    return shares;
}

}  // namespace

Psf make_psf(const PsfOptions& options, const ExecutionContext& context) {
    optics::check_lens(options);
    optics::check_grid(options);
    const Shape3 size = options.size;
    const index_t middle = size.z / 2, height = size.y / 2 + 1, width = size.x / 2 + 1;
    const int threads = thread_count(options.threads);
    Volume psf(size, PixelType::float32);

    const VoxelSize& voxel = options.voxel;
    const optics::Quadrature rule =
        optics::gauss_legendre(options.oversampling, -0.5, 0.5, context);
    const std::vector<double> ys = sample_points(height, voxel.y_um, rule);
    const std::vector<double> xs = sample_points(width, voxel.x_um, rule);
    const double center =
        options.center_z_um ? *options.center_z_um : brightest_focus_um(options, context);
    const double half_depth = voxel.z_um * static_cast<double>(size.z) / 2;
    const double farthest = std::hypot(ys.back(), xs.back());
    const optics::RadialGrid grid(optics::intensity_band(options), farthest);
    const optics::MicroscopeResponse response(options,
                                              {farthest, center - half_depth, center + half_depth},
                                              grid.radii(), threads, context);

    Volume quadrants({size.z, height, width}, PixelType::float64);
    const index_t scratch_elems = response.scratch_elems() + grid.count();
    std::vector<double> scratch(static_cast<std::size_t>(checked_multiply(threads, scratch_elems)));
    std::vector<double> sums(static_cast<std::size_t>(size.z));
    double* const values = quadrants.elements<double>();
    std::mutex progress_mutex;
    index_t done = 0;
    parallel_for(size.z, threads, [&](index_t z, int thread) {
        if (context.stop.stop_requested()) return;
        double* const mean = scratch.data() + thread * scratch_elems;
        std::fill_n(mean, grid.count(), 0.0);
        for (std::size_t i = 0; i < rule.nodes.size(); ++i) {
            const double planes = static_cast<double>(z - middle) + rule.nodes[i];
            response.add_intensity(center - planes * voxel.z_um, rule.weights[i],
                                   mean + grid.count(), mean);
        }
        double* const quadrant = values + z * height * width;
        fill_quadrant(grid, mean, rule, ys, xs, quadrant, context);
        sums[static_cast<std::size_t>(z)] = plane_sum(quadrant, height, width);
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
        mirror_quadrant(values + z * height * width, height, width, 1 / total,
                        out + z * size.y * size.x);
    });
    return {std::move(psf), center, captured_shares(options, center, threads, context)};
}

}  // namespace convolume
