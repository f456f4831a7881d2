// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes convolvers on given engines, which they can share and which tests can replace, and
// convolvers for the cache of plans.

#include "convolume/convolver.hpp"
#include "core/engine.hpp"

namespace convolume {

struct ConvolverFactory {
    /// Makes a Convolver as its constructor does, with `engines` in place of an EngineChoice.
    static Convolver make(const Shape3& image_shape, const ConstImageView& kernel,
                          const Options& options, EngineList engines,
                          PixelType image_type = PixelType::float32,
                          PixelType output_type = PixelType::float32);
    /// Makes a Convolver whose results do not depend on how long it has been used.
    /// Options::expected_executions only decides whether GPUs are worth their start: the plan is
    /// that of a Convolver without it, so that later executions take no longer.
    static Convolver make_steady(const Shape3& image_shape, const ConstImageView& kernel,
                                 const Options& options, const EngineChoice& engines,
                                 PixelType image_type, PixelType output_type);
};

}  // namespace convolume
