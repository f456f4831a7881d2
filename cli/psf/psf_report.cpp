// SPDX-License-Identifier: Apache-2.0
#include "cli/psf/psf_report.hpp"

#include <cmath>

#include "cli/psf/parameters.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

std::string um(double value_um) {
    // To a tenth of a nanometer, and zero without a sign.
    return format_number(std::round(value_um * 1e4) / 1e4 + 0.0, 4) + " µm";
}

std::string percent(double share) {
    return format_number(100 * share, 3) + " %";
}

namespace {

void warn_of_axis(const Console& console, const char* direction, double voxel_um, double most_um) {
    if (voxel_um > most_um)
        console.warning(message("voxels of ", um(voxel_um), ' ', direction,
                                " are too coarse for the PSF's finest detail, which needs at most ",
                                um(most_um), "; use smaller voxels if the camera allows"));
}

// One photon of a longer wavelength has too little energy to excite.
void warn_of_exchanged_wavelengths(const Console& console, const PsfOptions& options) {
    const bool one_photon =
        options.modality == Modality::confocal || options.modality == Modality::spinning_disc;
    if (one_photon && *options.excitation_um > options.wavelength_um)
        console.warning(message("the excitation wavelength, ", um(*options.excitation_um),
                                ", is longer than the emission wavelength, ",
                                um(options.wavelength_um),
                                "; swap --excitation and --wavelength if they are mixed up"));
}

// Microscopes use light from the near ultraviolet to the near infrared.
void warn_of_odd_wavelength(const Console& console, const char* option, double wavelength_um) {
    if (wavelength_um >= 0.3 && wavelength_um <= 1.5) return;
    console.warning(message(option, " is ", um(wavelength_um),
                            ", but microscopes use light of 0.3 to 1.5 µm; check the number and "
                            "its unit"));
}

void warn_of_coarse_voxels(const Console& console, const PsfOptions& options,
                           const PsfFacts& facts) {
    warn_of_axis(console, "along z", options.voxel.z_um, facts.nyquist_axial_um);
    warn_of_axis(console, "along y", options.voxel.y_um, facts.nyquist_lateral_um);
    warn_of_axis(console, "along x", options.voxel.x_um, facts.nyquist_lateral_um);
}

}  // namespace

namespace {

std::string wavelength_text(const PsfOptions& options) {
    if (options.modality == Modality::two_photon)
        return format_number(1e3 * *options.excitation_um) + " nm excitation";
    return format_number(1e3 * options.wavelength_um) + " nm";
}

}  // namespace

void report_optics(const Console& console, const ImageOptics& optics, const std::string& source) {
    if (const std::string line = optics.line(source); !line.empty()) console.fact("optics", line);
    for (const std::string& warning : optics.warnings) console.warning(warning);
}

void report_psf(const Console& console, const PsfOptions& options) {
    const auto words = psf_parameters(options);
    console.fact(
        "psf",
        message(words["model"].get<std::string>(), ", ", words["modality"].get<std::string>(),
                ", NA ", format_number(options.objective.na), ", ", wavelength_text(options),
                ", z,y,x ", to_string(options.size), ", ",
                format_voxel_size({options.voxel.z_um, options.voxel.y_um, options.voxel.x_um})));
}

void warn_of_psf(const Console& console, const PsfOptions& options, const PsfFacts& facts) {
    if (options.modality != Modality::two_photon)
        warn_of_odd_wavelength(console, "--wavelength", options.wavelength_um);
    if (options.excitation_um)
        warn_of_odd_wavelength(console, "--excitation", *options.excitation_um);
    warn_of_exchanged_wavelengths(console, options);
    warn_of_coarse_voxels(console, options, facts);
}

}  // namespace convolume::cli
