// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parameters of a PSF that only models with layers use.

#include <string>
#include <string_view>
#include <vector>

#include "convolume/psf.hpp"

namespace convolume {

/// Returns whether a parameter, named as in the table of PsfOptions, describes the layers of
/// Objective or the depth of the source.
bool is_layer(std::string_view parameter);

/// Throws InvalidArgument that names the option if one of the `given` parameters is a layer and the
/// model has none. They are those that the caller gives, not defaults, and not those of files.
void refuse_unused_layers(PsfModel model, const std::vector<std::string>& given);

/// Sets values by design that are not `given`, as named in the table of PsfOptions, to the actual
/// ones, and the index of the sample to that which suits the immersion.
void complete_objective(PsfOptions& options, const std::vector<std::string>& given);

/// Returns whether PSFs of a modality depend on the wavelength of emission.
bool needs_wavelength(std::string_view modality);

}  // namespace convolume
