// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of a PSF's options, and quantities that follow from options alone.

#include "convolume/psf.hpp"

namespace convolume::optics {

void check_lens(const PsfOptions& options);  ///< checks all options that psf_intensity() reads
void check_points(double z_um, const std::vector<double>& radii_um);
void check_grid(const PsfOptions& options);  ///< checks voxel size, size and sampling

/// Returns the largest voxel along an axis that keeps all frequencies, see PsfFacts.
double nyquist_um(const PsfOptions& options, int axis);

/// Returns nᵢ λ/NA² of the shortest wavelength. Peaks on the axis are at least this wide.
double depth_of_field_um(const PsfOptions& options);

/// Returns the highest angular frequency of intensities across the axis, in radians per µm: twice
/// that of the field. Products of intensities have the sum of both.
double intensity_band(const PsfOptions& options);

/// Returns true if intensities are products of two lenses' intensities, or squares of one's.
bool is_product(Modality modality);

/// Returns the pinhole's radius in the sample.
double pinhole_radius_um(const PsfOptions& options);

/// Pinholes of `radius_um` on a square lattice of `spacing_um`, both in the sample.
struct DiscPattern {
    double radius_um;
    double spacing_um;
};

/// Returns the pinholes of a spinning disc.
DiscPattern disc_pattern(const PsfOptions& options);

/// Returns the highest angular frequency of the intensities of one lens at a wavelength.
double lens_band(const PsfOptions& options, double wavelength_um);

/// Returns the number of vectors of the reciprocal lattice along an axis that lie within the band.
double lattice_steps(double spacing_um, double band_per_um);

}  // namespace convolume::optics
