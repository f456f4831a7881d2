// SPDX-License-Identifier: Apache-2.0
#include "optics/response.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "optics/check.hpp"

namespace convolume {

namespace optics {

double lens_band(const PsfOptions& options, double wavelength_um) {
    return 4 * std::numbers::pi * options.objective.na / wavelength_um;
}

namespace {

PsfOptions excitation_of(PsfOptions options) {
    options.wavelength_um = *options.excitation_um;
    return options;
}

}  // namespace

double intensity_band(const PsfOptions& options) {
    if (options.modality == Modality::two_photon)
        return 2 * lens_band(options, *options.excitation_um);
    double band = lens_band(options, options.wavelength_um);
    if (options.modality == Modality::confocal || options.modality == Modality::spinning_disc)
        band += lens_band(options, *options.excitation_um);
    return band;
}

bool is_product(Modality modality) {
    return modality == Modality::confocal || modality == Modality::two_photon ||
           modality == Modality::spinning_disc;
}

DiscPattern disc_pattern(const PsfOptions& options) {
    const double magnification = options.disc_magnification.value_or(1);
    return {*options.disc_pinhole_um / 2 / magnification, *options.disc_spacing_um / magnification};
}

double pinhole_radius_um(const PsfOptions& options) {
    return options.pinhole_au.value_or(1) * 0.61 * options.wavelength_um / options.objective.na;
}

Response::Response(const PsfOptions& options, const Extent& extent, std::vector<double> radii_um,
                   int threads, const ExecutionContext& context, double step_rad)
    : radii_(static_cast<index_t>(radii_um.size())) {
    if (options.modality == Modality::confocal) {
        Extent wider = extent;
        wider.radius_um += pinhole_radius_um(options);
        emission_grid_.emplace(lens_band(options, options.wavelength_um), wider.radius_um,
                               step_rad);
        wider.radius_um = emission_grid_->step_um() * static_cast<double>(emission_grid_->count());
        pinhole_.emplace(pinhole_radius_um(options), *emission_grid_, radii_um, threads, context);
        emission_.emplace(options, wider, emission_grid_->radii(), threads, context);
        excitation_.emplace(excitation_of(options), extent, std::move(radii_um), threads, context);
        return;
    }
    if (options.modality == Modality::spinning_disc) {
        array_.emplace(disc_pattern(options), lens_band(options, *options.excitation_um), radii_um,
                       threads, context);
        Extent lit = extent;
        lit.radius_um = array_->grid().step_um() * static_cast<double>(array_->grid().count());
        excitation_.emplace(excitation_of(options), lit, array_->grid().radii(), threads, context);
    }
    squared_ = options.modality == Modality::two_photon;
    emission_.emplace(squared_ ? excitation_of(options) : options, extent, std::move(radii_um),
                      threads, context);
    if (options.modality == Modality::light_sheet) {
        sheet_fwhm_um_ = *options.sheet_fwhm_um;
        sheet_z_um_ = brightest_focus_um(options, context);
    }
}

index_t Response::scratch_elems() const {
    if (array_)
        return std::max(emission_->scratch_elems(), excitation_->scratch_elems()) +
               excitation_->radii() + array_->scratch_elems() + 2 * radii_;
    if (!pinhole_) return emission_->scratch_elems() + (squared_ ? radii_ : 0);
    return std::max(emission_->scratch_elems(), excitation_->scratch_elems()) + emission_->radii() +
           2 * radii_;
}

double Response::sheet(double z_um) const {
    if (!(sheet_fwhm_um_ > 0)) return 1;
    const double away = (z_um - sheet_z_um_) / sheet_fwhm_um_;
    return std::exp(-4 * std::numbers::ln2 * away * away);
}

double Response::plane_energy(double z_um) const {
    return sheet(z_um) * emission_->plane_energy(z_um);
}

void Response::add_intensity(double z_um, double weight, double* scratch, double* sum) const {
    if (squared_) {
        double* const once = scratch + emission_->scratch_elems();
        std::fill_n(once, radii_, 0.0);
        emission_->add_intensity(z_um, 1, scratch, once);
        for (index_t i = 0; i < radii_; ++i) sum[i] += weight * once[i] * once[i];
        return;
    }
    if (array_) return add_through_array(z_um, weight, scratch, sum);
    if (!pinhole_) return emission_->add_intensity(z_um, weight * sheet(z_um), scratch, sum);
    double* const emitted = scratch;
    double* const detected = emitted + emission_->radii();
    double* const excited = detected + radii_;
    double* const inner = excited + radii_;
    std::fill_n(emitted, emission_->radii(), 0.0);
    emission_->add_intensity(z_um, 1, inner, emitted);
    pinhole_->apply(emitted, detected);
    std::fill_n(excited, radii_, 0.0);
    excitation_->add_intensity(z_um, 1, inner, excited);
    for (index_t i = 0; i < radii_; ++i) sum[i] += weight * excited[i] * detected[i];
}

void Response::add_through_array(double z_um, double weight, double* scratch, double* sum) const {
    double* const lit = scratch;
    double* const through = lit + excitation_->radii();
    double* const emitted = through + radii_;
    double* const spectrum = emitted + radii_;
    double* const inner = spectrum + array_->scratch_elems();
    std::fill_n(lit, excitation_->radii(), 0.0);
    excitation_->add_intensity(z_um, 1, inner, lit);
    array_->apply(lit, excitation_->plane_energy(z_um), spectrum, through);
    std::fill_n(emitted, radii_, 0.0);
    emission_->add_intensity(z_um, 1, inner, emitted);
    for (index_t i = 0; i < radii_; ++i) sum[i] += weight * emitted[i] * through[i];
}

}  // namespace optics

std::vector<double> psf_intensity(const PsfOptions& options, double z_um,
                                  const std::vector<double>& radii_um,
                                  const ExecutionContext& context) {
    optics::check_lens(options);
    optics::check_points(z_um, radii_um);
    double farthest = 0;
    for (const double radius : radii_um) farthest = std::max(farthest, radius);
    const optics::Response response(options, {farthest, z_um, z_um}, radii_um, 1, context,
                                    optics::RadialGrid::fine / 4);
    std::vector<double> scratch(static_cast<std::size_t>(response.scratch_elems()));
    std::vector<double> intensity(radii_um.size());
    response.add_intensity(z_um, 1, scratch.data(), intensity.data());
    return intensity;
}

}  // namespace convolume
