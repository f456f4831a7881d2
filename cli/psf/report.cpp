// SPDX-License-Identifier: Apache-2.0
// What `convolume psf` reports: sentences for people, JSON for programs.

#include <algorithm>
#include <cmath>

#include "cli/files/result_output.hpp"
#include "cli/psf/command.hpp"
#include "cli/psf/parameters.hpp"
#include "cli/psf/psf_report.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

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
    if (options.modality == Modality::spinning_disc)
        console.fact("disc",
                     message("pinholes ", um(facts.pinhole_um), " wide in the sample, ",
                             um(*options.disc_spacing_um / options.disc_magnification.value_or(1)),
                             " apart"));
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
    if (like_) warn_of_notes(console, request_.like, *like_);
    report_optics(console, optics_, request_.like);
    if (!request_.voxel_doubt.empty()) console.warning(request_.voxel_doubt);
    report_psf(console, options_);
    warn_of_psf(console, options_, facts_);
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
    if (like_ && !like_->notes.empty()) json["notes"] = like_->notes;
    if (psf_) {
        json["facts"]["middle_plane_z_um"] = psf_->center_z_um;
        json["facts"]["captured_by_plane"] = psf_->captured;
    }
}

}  // namespace convolume::cli
