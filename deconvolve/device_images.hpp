// SPDX-License-Identifier: Apache-2.0
#pragma once
// Images and results in a GPU's memory, of any real type.

#include <memory>

#include "deconvolve/runner.hpp"

namespace convolume::deconvolve {

std::unique_ptr<Images> make_device_images(const DevicePixels& pixels, const Shape3& shape);

}  // namespace convolume::deconvolve
