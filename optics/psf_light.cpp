// SPDX-License-Identifier: Apache-2.0
#include "optics/psf_light.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/threads.hpp"
#include "optics/lens.hpp"
#include "optics/psf_options.hpp"

namespace convolume::optics {

namespace {

// Steps of sums over a plane. Few samples are needed: the trapezoidal rule, corrected at the axis,
// is exact for steps below 2π.
constexpr double light_step_rad = 1.6, emission_step_rad = 3 * RadialGrid::fine;

// Returns the angle, to either side of its normal, at which a straight side cuts a ring of `radius`
// around the axis. The side is `half` away from the axis.
double cut_angle(double half, double radius) {
    return radius > half ? std::acos(half / radius) : 0;
}

// Returns the radius that holds the rays of geometrical optics and the fringes around them.
double farthest_light_um(const PsfOptions& options, const std::vector<double>& z_um) {
    double farthest = 0;
    for (const double z : z_um) farthest = std::max(farthest, ray_radius_um(options, z, 0.99));
    const double wavelength =
        std::max(options.wavelength_um, options.excitation_um.value_or(options.wavelength_um));
    const double unit = wavelength / options.objective.na;
    return 1.1 * farthest + 4 * unit + 2 * pinhole_radius_um(options);
}

}  // namespace

AxisIntensity::AxisIntensity(const PsfOptions& options, double center_um, double reach_um,
                             const ExecutionContext& context)
    : context_(context),
      response_(options, {0, center_um - reach_um, center_um + reach_um}, {0.0}, 1, context),
      scratch_(static_cast<std::size_t>(response_.scratch_elems())) {}

double AxisIntensity::operator()(double z_um) const {
    throw_if_stopped(context_);
    double value = 0;
    response_.add_intensity(z_um, 1, scratch_.data(), &value);
    return value;
}

double half_depth_for(const PsfOptions& options, double center_um, double share,
                      const ExecutionContext& context) {
    // Rays of all inclinations meet the axis between `center_um` and the paraxial focus, or about
    // as far on the other side.
    const double depth_of_field = depth_of_field_um(options);
    const double shift = std::abs(center_um - brightest_focus_um(options, context));
    double step = depth_of_field / 8;
    double reach =
        2 * (shift + std::abs(center_um - paraxial_focus_um(options))) + 40 * depth_of_field;
    if (options.sheet_fwhm_um) {
        step = std::min(step, *options.sheet_fwhm_um / 16);
        reach = std::min(reach, shift + 3 * *options.sheet_fwhm_um);
    }
    const AxisIntensity axis(options, center_um, reach, context);
    const auto count = static_cast<std::size_t>(reach / step);
    std::vector<double> light(count);  // sum of both sides, at distances of i + 1/2 steps
    for (std::size_t i = 0; i < count; ++i) {
        const double away = (static_cast<double>(i) + 0.5) * step;
        light[i] = axis(center_um - away) + axis(center_um + away);
    }

    // Beyond `reach`, the light of one lens falls as 1/z², also if a disc lights the whole sample.
    // The product of two lenses falls as 1/z⁴: less than a millionth is left. Gaussians have no
    // light there.
    const bool falls_slowly =
        options.model != PsfModel::gaussian &&
        (options.modality == Modality::widefield || options.modality == Modality::spinning_disc);
    double level = 0, total = 0;
    for (std::size_t i = 0; i < count; ++i) {
        total += light[i] * step;
        const double away = (static_cast<double>(i) + 0.5) * step;
        if (falls_slowly && i >= count / 2) level += light[i] * away * away;
    }
    level /= static_cast<double>(count - count / 2);
    total += level / (static_cast<double>(count) * step);

    const double missing = (1 - share) * total;
    double within = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double after = within + light[i] * step;
        if (after >= share * total)
            return (static_cast<double>(i) + (share * total - within) / (light[i] * step)) * step;
        within = after;
    }
    return falls_slowly ? level / missing : reach;
}

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
    const RadialGrid grid(intensity_band(options), reach, light_step_rad);
    const auto [low, high] = std::minmax_element(z_um.begin(), z_um.end());
    const MicroscopeResponse response(options, {grid.end_um(), *low, *high}, grid.radii(), threads,
                                      context, emission_step_rad);
    const auto scratch_elems = static_cast<std::size_t>(response.scratch_elems());
    const auto count = static_cast<std::size_t>(grid.count());
    std::vector<PlaneLight> planes(z_um.size());
    parallel_for(static_cast<index_t>(planes.size()), threads, [&](index_t plane_number, int) {
        if (context.stop.stop_requested()) return;
        const auto plane = static_cast<std::size_t>(plane_number);
        std::vector<double> scratch(scratch_elems), intensity(count), within(count);
        response.add_intensity(z_um[plane], 1, scratch.data(), intensity.data());
        // The trapezoidal rule for h · 2πr; its error is −step²/12 times the slope at the axis.
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
