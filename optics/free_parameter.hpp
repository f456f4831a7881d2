// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parameters of a PSF that a refinement may change.

#include "convolume/beads.hpp"

namespace convolume::optics {

struct Range {
    double low, high;
    double step;  ///< of numeric derivatives
};

/// Whether there is a sample below a cover glass in the model.
bool has_layers(const PsfOptions& model);

double value_of(const PsfOptions& model, PsfParameter parameter);
void set_value(PsfOptions& model, PsfParameter parameter, double value);

/// Where a parameter is sought, see refine_psf(). All values of one parameter are possible beside
/// all of another.
Range range_of(const PsfOptions& model, PsfParameter parameter);

}  // namespace convolume::optics
