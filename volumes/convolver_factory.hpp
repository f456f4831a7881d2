// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolvers on engines made elsewhere: several convolvers that share them, or engines of a test.

#include "convolume/convolver.hpp"
#include "core/engine.hpp"

namespace convolume {

struct ConvolverFactory {
    /// As Convolver's constructor, with `engines` for its EngineChoice.
    static Convolver make(const Shape3& image_shape, const ConstImageView& kernel,
                          const Options& options, EngineList engines,
                          PixelType image_type = PixelType::float32,
                          PixelType output_type = PixelType::float32);
};

}  // namespace convolume
