#pragma once
// What `convolume psf` tells.

#include <nlohmann/json.hpp>
#include <string>

#include "cli/text/console.hpp"
#include "convolume/psf.hpp"

namespace convolume::cli {

/// Where excitation has the longer wavelength: one photon has too little energy for that.
void warn_of_exchanged_wavelengths(const Console& console, const PsfOptions& options);

/// Where voxels are larger than the finest detail allows.
void warn_of_coarse_voxels(const Console& console, const PsfOptions& options,
                           const PsfFacts& facts);

/// Model, microscope and size in one line.
void report_psf(const Console& console, const PsfOptions& options);

/// Widths, sampling and focus.
void explain_psf(const Console& console, const PsfOptions& options, const PsfFacts& facts);

/// The light in each plane of the volume.
void explain_captured(const Console& console, const Psf& psf);

/// The side file; without a PSF, its light and its focus are missing.
std::string psf_json(const PsfOptions& options, const PsfFacts& facts, const Psf* psf);

}  // namespace convolume::cli
