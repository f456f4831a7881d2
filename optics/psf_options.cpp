// SPDX-License-Identifier: Apache-2.0
#include "optics/psf_options.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "convolume/error.hpp"
#include "core/threads.hpp"

namespace convolume::optics {

namespace {

constexpr double longest_um = 1e4;  // longer lengths are in a mistaken unit

void check_range(const char* what, double value_um, double lowest, double highest) {
    if (!(value_um >= lowest && value_um <= highest))
        throw InvalidArgument(
            message(what, " is ", value_um, " µm: give ", lowest, " to ", highest));
}

void check_length(const char* what, double value_um) {
    check_range(what, value_um, 0, longest_um);
}

constexpr double least_na = 1e-3;  // lower apertures have no focus that can be found

// Largest voxel, in Nyquist steps. Larger ones are in a mistaken unit, or a camera's pixels.
constexpr double coarsest_nyquist = 50;

void check_voxel(const PsfOptions& options, int axis) {
    const double value_um = axis == 0 ? options.plane_distance_um() : options.voxel[axis],
                 most_um = coarsest_nyquist * nyquist_um(options, axis);
    if (!(value_um > 0 && value_um <= most_um))
        throw InvalidArgument(message("the voxel size along ", axis_name(axis), " is ", value_um,
                                      " µm: give a positive length up to ", most_um,
                                      ", and that in the sample"));
}

void check_index(const char* what, double index) {
    if (!(index >= 1) || !(index < 5))
        throw InvalidArgument(message("the refractive index of ", what, " is ", index,
                                      ": give a number from 1 to 5"));
}

void check_aperture(double na, const char* what, double index) {
    if (na > index)
        throw InvalidArgument(message("a numerical aperture of ", na,
                                      " needs an index at least as large, but ", what, " has ",
                                      index, ": lower the one or raise the other"));
}

void refuse_unused(const std::optional<double>& value, const char* what, const char* modality) {
    if (value)
        throw InvalidArgument(message(what, " was given, which plays no part in the modality ",
                                      modality, ": leave it out or choose another modality"));
}

// Largest number of lattice_steps(). Pinholes farther apart do not affect each other near the
// focus, and their tables would be large.
constexpr double most_lattice_steps = 60;

void check_disc(const PsfOptions& options) {
    if (options.modality != Modality::spinning_disc) {
        const char* const name = to_string(options.modality);
        refuse_unused(options.disc_pinhole_um, "the pinholes of a disc", name);
        refuse_unused(options.disc_spacing_um, "the spacing of a disc's pinholes", name);
        refuse_unused(options.disc_magnification, "the magnification of a disc", name);
        return;
    }
    if (!options.disc_pinhole_um || !options.disc_spacing_um)
        throw InvalidArgument(
            "a spinning-disc PSF needs the diameter of the disc's pinholes and the distance "
            "between them: give both");
    const double magnification = options.disc_magnification.value_or(1);
    if (!(magnification > 0 && magnification <= 1000))
        throw InvalidArgument(message("the magnification between sample and disc is ",
                                      magnification, ": give more than 0 and up to 1000"));
    check_range("the diameter of the disc's pinholes", *options.disc_pinhole_um, 1e-3, longest_um);
    if (!(*options.disc_spacing_um >= *options.disc_pinhole_um))
        throw InvalidArgument(message("the disc's pinholes are ", *options.disc_pinhole_um,
                                      " µm wide and ", *options.disc_spacing_um,
                                      " µm apart from center to center: give a distance of at "
                                      "least their width"));
    const double band = lens_band(options, *options.excitation_um);
    const double spacing = *options.disc_spacing_um / magnification;
    const double most = spacing * most_lattice_steps / lattice_steps(spacing, band);
    if (!(spacing <= most))
        throw InvalidArgument(message("the disc's pinholes are ", spacing,
                                      " µm apart in the sample: give up to ", most,
                                      ", or the magnification between sample and disc"));
}

void check_illumination(const PsfOptions& options) {
    const bool confocal = options.modality == Modality::confocal;
    const char* const name = to_string(options.modality);
    if (is_product(options.modality)) {
        if (!options.excitation_um)
            throw InvalidArgument(message("a ", name,
                                          " PSF needs the wavelength of excitation, and none was "
                                          "given: give it"));
        check_range("the wavelength of excitation", *options.excitation_um, 0.1, 10);
    } else {
        refuse_unused(options.excitation_um, "a wavelength of excitation", name);
    }
    if (confocal) {
        if (const double pinhole = options.pinhole_au.value_or(1); !(pinhole > 0 && pinhole <= 100))
            throw InvalidArgument(message("the pinhole is ", pinhole,
                                          " Airy units wide: give more than 0 and up to 100"));
    } else {
        refuse_unused(options.pinhole_au, "a pinhole", name);
    }
    check_disc(options);
    if (options.modality != Modality::light_sheet) {
        refuse_unused(options.sheet_fwhm_um, "the thickness of a light sheet", name);
        return;
    }
    if (!options.sheet_fwhm_um)
        throw InvalidArgument(
            "a light-sheet PSF needs the sheet's thickness, and none was given: give its full "
            "width at half maximum");
    check_range("the thickness of the light sheet", *options.sheet_fwhm_um, 0.1, longest_um);
}

}  // namespace

void check_lens(const PsfOptions& options) {
    const Objective& lens = options.objective;
    if (!(lens.na >= least_na))
        throw InvalidArgument(
            message("the numerical aperture is ", lens.na, ": give at least ", least_na));
    check_range("the wavelength", options.wavelength_um, 0.1, 10);
    check_illumination(options);
    check_index("the immersion medium", lens.ni);
    check_aperture(lens.na, "the immersion medium", lens.ni);
    if (!has_layers(options.model)) return;

    check_index("the sample", lens.ns);
    check_index("the cover glass", lens.ng);
    check_index("the design's immersion medium", lens.ni0);
    check_index("the design's cover glass", lens.ng0);
    check_aperture(lens.na, "the cover glass", lens.ng);
    check_aperture(lens.na, "the design's immersion medium", lens.ni0);
    check_aperture(lens.na, "the design's cover glass", lens.ng0);
    check_length("the depth of the source", options.depth_um);
    check_length("the thickness of the immersion layer", lens.ti0_um);
    check_length("the thickness of the cover glass", lens.tg_um);
    check_length("the design's thickness of the cover glass", lens.tg0_um);
}

double depth_of_field_um(const PsfOptions& options) {
    const Objective& lens = options.objective;
    const double wavelength =
        std::min(options.wavelength_um, options.excitation_um.value_or(options.wavelength_um));
    return wavelength * lens.ni / (lens.na * lens.na);
}

double lens_band(const PsfOptions& options, double wavelength_um) {
    return 4 * std::numbers::pi * options.objective.na / wavelength_um;
}

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

double lattice_steps(double spacing_um, double band_per_um) {
    return spacing_um * band_per_um / (2 * std::numbers::pi);
}

double nyquist_um(const PsfOptions& options, int axis) {
    const Objective& lens = options.objective;
    double waves = 1 / options.wavelength_um;
    if (options.modality == Modality::two_photon) waves = 2 / *options.excitation_um;
    if (options.modality == Modality::confocal || options.modality == Modality::spinning_disc)
        waves += 1 / *options.excitation_um;
    if (axis > 0) return 1 / (4 * lens.na * waves);
    double cutoff = (lens.ni - std::sqrt(lens.ni * lens.ni - lens.na * lens.na)) * waves;
    // The spectrum of exp(−4 ln2 z²/w²) is exp(−(πfw)²/(4 ln2)).
    if (options.modality == Modality::light_sheet)
        cutoff += std::sqrt(4 * std::numbers::ln2 * std::log(100.0)) /
                  (std::numbers::pi * *options.sheet_fwhm_um);
    return 1 / (2 * cutoff);
}

void check_points(double z_um, const std::vector<double>& radii_um) {
    check_range("z", z_um, -longest_um, longest_um);
    for (const double radius : radii_um) check_length("a radius", radius);
}

void check_grid(const PsfOptions& options) {
    if (const auto scan = options.scan()) scan->check();
    for (int axis = 0; axis < 3; ++axis) check_voxel(options, axis);
    for (int axis = 0; axis < 3; ++axis)
        if (options.size[axis] < 1 || options.size[axis] % 2 == 0)
            throw InvalidArgument(message("a PSF of ", options.size[axis], " voxels along ",
                                          axis_name(axis),
                                          " has no middle voxel: give an odd size"));
    const VoxelSize& voxel = options.voxel;
    check_length("the PSF's extent along z",
                 options.plane_distance_um() * static_cast<double>(options.size.z));
    check_length("the PSF's extent along y", voxel.y_um * static_cast<double>(options.size.y));
    check_length("the PSF's extent along x", voxel.x_um * static_cast<double>(options.size.x));
    if (options.oversampling < 1 || options.oversampling > 64)
        throw InvalidArgument(message("an oversampling of ", options.oversampling,
                                      " is not possible: give 1 (voxel centers) to 64"));
    if (options.center_z_um)
        check_range("the z of the middle plane", *options.center_z_um, -longest_um, longest_um);
    check_threads(options.threads);
}

}  // namespace convolume::optics
