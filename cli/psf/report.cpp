// SPDX-License-Identifier: Apache-2.0
#include "cli/psf/report.hpp"

#include <cmath>

#include "cli/psf/parameters.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

void warn_of_coarse_voxel(const Console& console, const char* direction, double voxel_um,
                          double most_um) {
    if (voxel_um > most_um)
        console.warning(message("voxels of ", format_um(voxel_um), ' ', direction,
                                " are too coarse for the PSF's finest detail, which needs at most ",
                                format_um(most_um), "; use smaller voxels if the camera allows"));
}

// Warns of wavelengths that no microscope uses: near ultraviolet to near infrared are usual.
void warn_of_odd_wavelength(const Console& console, const char* option, double wavelength_um) {
    if (wavelength_um >= 0.3 && wavelength_um <= 1.5) return;
    console.warning(message(option, " is ", format_um(wavelength_um),
                            ", but microscopes use light of 0.3 to 1.5 µm; check the number and "
                            "its unit"));
}

std::string wavelength_text(const PsfOptions& options) {
    if (options.modality == Modality::two_photon)
        return format_number(1e3 * *options.excitation_um) + " nm excitation";
    return format_number(1e3 * options.wavelength_um) + " nm";
}

}  // namespace

std::string format_um(double value_um) {
    // The value is rounded to a tenth of a nanometer, and zero has no sign.
    return format_number(std::round(value_um * 1e4) / 1e4 + 0.0, 4) + " µm";
}

std::string format_percent(double share) {
    return format_number(100 * share, 3) + " %";
}

void report_optics(const Console& console, const ImageOptics& optics, const std::string& source) {
    if (const std::string line = optics.line(source); !line.empty()) console.fact("optics", line);
    console.warnings(optics.warnings);
}

void report_psf(const Console& console, const PsfOptions& options) {
    const auto parameters = psf_parameters(options);
    console.fact(
        "psf",
        message(parameters["model"].get<std::string>(), ", ",
                parameters["modality"].get<std::string>(), ", NA ",
                format_number(options.objective.na), ", ", wavelength_text(options), ", z,y,x ",
                to_string(options.size), ", ",
                format_voxel_size({options.voxel.z_um, options.voxel.y_um, options.voxel.x_um})));
}

void warn_of_psf(const Console& console, const PsfOptions& options, const PsfFacts& facts) {
    if (options.modality != Modality::two_photon)
        warn_of_odd_wavelength(console, "--wavelength", options.wavelength_um);
    if (options.excitation_um)
        warn_of_odd_wavelength(console, "--excitation", *options.excitation_um);
    // A single photon of a longer wavelength has too little energy for excitation.
    const bool one_photon =
        options.modality == Modality::confocal || options.modality == Modality::spinning_disc;
    if (one_photon && *options.excitation_um > options.wavelength_um)
        console.warning(message("the excitation wavelength, ", format_um(*options.excitation_um),
                                ", is longer than the emission wavelength, ",
                                format_um(options.wavelength_um),
                                "; swap --excitation and --wavelength if they are mixed up"));
    warn_of_coarse_voxel(console, "along z", options.plane_distance_um(), facts.nyquist_axial_um);
    warn_of_coarse_voxel(console, "along y", options.voxel.y_um, facts.nyquist_lateral_um);
    warn_of_coarse_voxel(console, "along x", options.voxel.x_um, facts.nyquist_lateral_um);
}

}  // namespace convolume::cli
