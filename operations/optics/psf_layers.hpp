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

}  // namespace convolume
