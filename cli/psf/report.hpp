// SPDX-License-Identifier: Apache-2.0
#pragma once
// A PSF in words, for all subcommands that make one.

#include <string>

#include "cli/psf/image_optics.hpp"
#include "cli/text/console.hpp"
#include "convolume/psf.hpp"

namespace convolume::cli {

/// "0.2643 µm"
std::string um(double value_um);
/// "58 %"
std::string percent(double share);

/// The line "optics": what the image `source` says of the microscope, and what is assumed.
void report_optics(const Console& console, const ImageOptics& optics, const std::string& source);

/// The line "psf": model, modality, NA, wavelength, size and voxels.
void report_psf(const Console& console, const PsfOptions& options);

/// Warns of voxels that are too coarse and of wavelengths that are mixed up.
void warn_of_psf(const Console& console, const PsfOptions& options, const PsfFacts& facts);

}  // namespace convolume::cli
