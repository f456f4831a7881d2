// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stacks of beads from which a PSF is measured: their samples, saturation, and the PSF's size.

#include <optional>
#include <string>

#include "convolume/image_view.hpp"
#include "convolume/psf.hpp"
#include "convolume/volume.hpp"

namespace convolume {

/// Throws BadData if an image is complex. `what` names it, such as "the image".
void check_real(PixelType type, const std::string& what);

/// Returns real samples as float32. Throws as check_real() does.
Volume real_samples(const ConstImageView& samples, const std::string& what);

/// Returns the value from which beads count as saturated: the largest one of the stack (float32,
/// contiguous), if it is the largest of the recorded type or of a camera.
std::optional<double> bead_saturation(const ConstImageView& stack, PixelType recorded);

/// Returns the size of a PSF that is measured from beads: the given one or, as far as the stack
/// allows, five Airy radii of the model across and twice Rayleigh's distance along z, to either
/// side. Throws InvalidArgument if neither size nor model is given.
Shape3 bead_psf_size(const std::optional<Shape3>& given, const std::optional<PsfOptions>& model,
                     const Shape3& stack);

}  // namespace convolume
