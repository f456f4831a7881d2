// SPDX-License-Identifier: Apache-2.0
#pragma once
// What options must satisfy before anything is computed.

#include "convolume/psf.hpp"

namespace convolume::optics {

void check_lens(const PsfOptions& options);  ///< all that psf_intensity() reads
void check_points(double z_um, const std::vector<double>& radii_um);
void check_grid(const PsfOptions& options);  ///< voxels and size

/// How many threads to use.
int thread_count(const PsfOptions& options);

/// The largest voxel along an axis that loses nothing, see PsfFacts.
double nyquist_um(const PsfOptions& options, int axis);

}  // namespace convolume::optics
