// SPDX-License-Identifier: Apache-2.0
// What `convolume psf` reports: sentences for people, JSON for programs.

#include <algorithm>
#include <cmath>

#include "cli/psf/command.hpp"
#include "cli/psf/parameters.hpp"
#include "cli/text/format.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

std::string um(double value_um) {
    // To a tenth of a nanometer, and zero without a sign.
    return format_number(std::round(value_um * 1e4) / 1e4 + 0.0, 4) + " µm";
}

std::string percent(double share) {
    return format_number(100 * share, 3) + " %";
}

void warn_of_axis(const Console& console, const char* direction, double voxel_um, double most_um) {
    if (voxel_um > most_um)
        console.warning(message("voxels of ", um(voxel_um), ' ', direction,
                                " are too coarse for the PSF's finest detail, which needs at most ",
                                um(most_um), "; use smaller voxels if the camera allows"));
}

// One photon of a longer wavelength has too little energy to excite.
void warn_of_exchanged_wavelengths(const Console& console, const PsfOptions& options) {
    if (options.excitation_um.value_or(0) > options.wavelength_um)
        console.warning(message("the excitation wavelength, ", um(*options.excitation_um),
                                ", is longer than the emission wavelength, ",
                                um(options.wavelength_um),
                                "; swap --excitation and --wavelength if they are mixed up"));
}

void warn_of_coarse_voxels(const Console& console, const PsfOptions& options,
                           const PsfFacts& facts) {
    warn_of_axis(console, "along z", options.voxel.z_um, facts.nyquist_axial_um);
    warn_of_axis(console, "along y", options.voxel.y_um, facts.nyquist_lateral_um);
    warn_of_axis(console, "along x", options.voxel.x_um, facts.nyquist_lateral_um);
}

void report_psf(const Console& console, const PsfOptions& options) {
    const auto words = psf_parameters(options);
    console.fact(
        "psf",
        message(words["model"].get<std::string>(), ", ", words["modality"].get<std::string>(),
                ", NA ", format_number(options.objective.na), ", ",
                format_number(1e3 * options.wavelength_um), " nm, z,y,x ", to_string(options.size),
                ", ",
                format_voxel_size({options.voxel.z_um, options.voxel.y_um, options.voxel.x_um})));
}

void explain_psf(const Console& console, const PsfOptions& options, const PsfFacts& facts) {
    console.fact("width", message("FWHM of this PSF: ", um(facts.fwhm_lateral_um), " across, ",
                                  um(facts.fwhm_axial_um),
                                  " along z; Rayleigh: 0.61 λ/NA = ", um(facts.rayleigh_lateral_um),
                                  ", 2 ni λ/NA² = ", um(facts.rayleigh_axial_um)));
    console.fact("voxel",
                 message("at most ", um(facts.nyquist_lateral_um), " across, ",
                         um(facts.nyquist_axial_um), " along z for the finest detail (Nyquist)"));
    console.fact("focus", message("brightest at z = ", um(facts.brightest_focus_um),
                                  ", paraxial rays meet at ", um(facts.paraxial_focus_um)));
    if (options.modality == Modality::confocal)
        console.fact("pinhole", message(um(facts.pinhole_um), " wide in the sample"));
    if (facts.total_reflection)
        console.fact("NA", message("effectively ", format_number(facts.effective_na),
                                   ": light of higher apertures comes only from sources within "
                                   "about a wavelength of the glass, since the sample's index is "
                                   "below the NA (total reflection)"));
}

void explain_captured(const Console& console, const Psf& psf) {
    const auto least = std::min_element(psf.captured.begin(), psf.captured.end());
    console.fact("light",
                 message("the volume contains ", percent(psf.captured[psf.captured.size() / 2]),
                         " of the middle plane's light and ", percent(*least), " of that of plane ",
                         least - psf.captured.begin(), ", the least"));
}

}  // namespace

void PsfSteps::report_plan(const Console& console) const {
    report_psf(console, options_);
    warn_of_exchanged_wavelengths(console, options_);
    warn_of_coarse_voxels(console, options_, facts_);
    if (request_.explain) explain_psf(console, options_, facts_);
}

void PsfSteps::report_result(const Console& console, const RunTimes&) const {
    if (request_.explain) explain_captured(console, *psf_);
    console.fact("output",
                 message(request_.output, ", and its parameters in ", request_.side_file()));
}

/// Also the side file.
void PsfSteps::fill_json(nlohmann::ordered_json& json, const RunTimes*) const {
    json["psf"] = psf_parameters(options_);
    json["facts"] = to_json(facts_);
    if (psf_) {
        json["facts"]["middle_plane_z_um"] = psf_->center_z_um;
        json["facts"]["captured_by_plane"] = psf_->captured;
    }
}

}  // namespace convolume::cli
