// SPDX-License-Identifier: Apache-2.0
#pragma once
// Descriptions of a PSF for all subcommands that make one.

#include <string>

#include "cli/psf/parameters.hpp"
#include "cli/text/console.hpp"
#include "convolume/psf.hpp"

namespace convolume::cli {

/// Returns a length such as "0.2643 µm".
std::string format_um(double value_um);
/// Returns a percentage such as "58 %".
std::string format_percent(double share);

/// Prints the line "optics": the microscope of the image `source`, and assumed parameters.
void report_optics(const Console& console, const ImageOptics& optics, const std::string& source);

/// Prints the line "psf": model, modality, NA, wavelength, size and voxels.
void report_psf(const Console& console, const PsfOptions& options);

/// Warns of voxels that are too coarse and of wavelengths that are mixed up.
void warn_of_psf(const Console& console, const PsfOptions& options, const PsfFacts& facts);

}  // namespace convolume::cli
