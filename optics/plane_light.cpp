// SPDX-License-Identifier: Apache-2.0
#include "optics/plane_light.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/threads.hpp"

namespace convolume::optics {

namespace {

// Sums over a plane need few samples: trapezoids, corrected at the axis, are exact below 2π.
constexpr double step_rad = 1.6, emission_step_rad = 3 * RadialGrid::fine;

// A straight side `half` away from the axis cuts a ring at this angle to either side of its normal.
double cut_angle(double half, double radius) {
    return radius > half ? std::acos(half / radius) : 0;
}

// Where geometrical optics ends and the fringes around it have faded.
double farthest_light_um(const PsfOptions& options, const std::vector<double>& z_um) {
    double farthest = 0;
    for (const double z : z_um) farthest = std::max(farthest, ray_radius_um(options, z, 0.99));
    const double wavelength =
        std::max(options.wavelength_um, options.excitation_um.value_or(options.wavelength_um));
    const double unit = wavelength / options.objective.na;
    return 1.1 * farthest + 4 * unit + 2 * pinhole_radius_um(options);
}

}  // namespace

double PlaneLight::radius_of(double share) const {
    const auto found = std::lower_bound(within.begin(), within.end(), share * total);
    return found == within.end() ? -1 : step_um * static_cast<double>(found - within.begin());
}

double PlaneLight::share_of(double half_y_um, double half_x_um) const {
    if (!(total > 0)) return 0;
    double inside = 0;
    for (std::size_t i = 1; i < within.size(); ++i) {
        const double radius = step_um * (static_cast<double>(i) - 0.5);
        const double lost = cut_angle(half_y_um, radius) + cut_angle(half_x_um, radius);
        const double arc = std::max(0.0, 1 - lost / (std::numbers::pi / 2));
        inside += arc * (within[i] - within[i - 1]);
    }
    return inside / total;
}

std::vector<PlaneLight> plane_light(const PsfOptions& options, const std::vector<double>& z_um,
                                    double radius_um, int threads,
                                    const ExecutionContext& context) {
    const bool summed = is_product(options.modality);
    const double reach = summed ? std::max(radius_um, farthest_light_um(options, z_um)) : radius_um;
    const RadialGrid grid(intensity_band(options), reach, step_rad);
    const auto [low, high] = std::minmax_element(z_um.begin(), z_um.end());
    const Extent extent{grid.step_um() * static_cast<double>(grid.count()), *low, *high};
    const Response response(options, extent, grid.radii(), threads, context, emission_step_rad);
    const auto scratch_elems = static_cast<std::size_t>(response.scratch_elems());
    const auto count = static_cast<std::size_t>(grid.count());
    std::vector<PlaneLight> planes(z_um.size());
    parallel_for(static_cast<index_t>(planes.size()), threads, [&](index_t plane_number, int) {
        if (context.stop.stop_requested()) return;
        const auto plane = static_cast<std::size_t>(plane_number);
        std::vector<double> scratch(scratch_elems), intensity(count), within(count);
        response.add_intensity(z_um[plane], 1, scratch.data(), intensity.data());
        // Trapezoids of h · 2πr; their error at the axis is −step²/12 times the slope there.
        const double ring = 2 * std::numbers::pi * grid.step_um() * grid.step_um();
        double sum = ring * intensity[0] / 12;
        for (std::size_t i = 1; i < count; ++i) {
            const double half = ring * static_cast<double>(i) * intensity[i] / 2;
            within[i] = sum + half;
            sum += 2 * half;
        }
        const double total = summed ? within.back() : response.plane_energy(z_um[plane]);
        planes[plane] = {grid.step_um(), std::move(within), total};
    });
    throw_if_stopped(context);
    return planes;
}

}  // namespace convolume::optics
