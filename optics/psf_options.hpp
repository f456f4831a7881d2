// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of a PSF's options, and quantities that follow from options alone.

#include "convolume/psf.hpp"

namespace convolume::optics {

void check_lens(const PsfOptions& options);  ///< all that psf_intensity() reads
void check_points(double z_um, const std::vector<double>& radii_um);
void check_grid(const PsfOptions& options);  ///< voxels and size

/// The largest voxel along an axis that keeps all frequencies, see PsfFacts.
double nyquist_um(const PsfOptions& options, int axis);

/// nᵢ λ/NA² of the shortest wavelength: peaks on the axis are as wide at least.
double depth_of_field_um(const PsfOptions& options);

/// Angular frequencies, in radians per µm across the axis, that intensities of `options` do not
/// exceed: twice those of fields, and products add theirs.
double intensity_band(const PsfOptions& options);

/// True if intensities are a product of those of two lenses, or of one with itself.
bool is_product(Modality modality);

/// The pinhole's radius in the sample.
double pinhole_radius_um(const PsfOptions& options);

/// Pinholes of `radius_um` on a square lattice of `spacing_um`, both in the sample.
struct DiscPattern {
    double radius_um;
    double spacing_um;
};

/// The pinholes of a spinning disc.
DiscPattern disc_pattern(const PsfOptions& options);

/// Highest angular frequency of the intensities of one lens at a wavelength.
double lens_band(const PsfOptions& options, double wavelength_um);

/// Vectors of the reciprocal lattice along an axis that lie within the band.
double lattice_steps(double spacing_um, double band_per_um);

}  // namespace convolume::optics
