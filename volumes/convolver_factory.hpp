// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes convolvers on given engines, which they can share and which tests can replace.

#include "convolume/convolver.hpp"
#include "core/engine.hpp"

namespace convolume {

struct ConvolverFactory {
    /// Makes a Convolver as its constructor does, with `engines` in place of an EngineChoice.
    static Convolver make(const Shape3& image_shape, const ConstImageView& kernel,
                          const Options& options, EngineList engines,
                          PixelType image_type = PixelType::float32,
                          PixelType output_type = PixelType::float32);
};

}  // namespace convolume
