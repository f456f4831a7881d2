// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finding NaN and infinities among pixels on the device.

#include <cuda_runtime_api.h>

#include "convolume/image_view.hpp"
#include "convolume/shape.hpp"

namespace convolume::gpu {

/// Adds how many components of `count` pixels are not finite to `*counter`, both on the
/// device. Integer pixels have none.
void count_nonfinite(const void* pixels, PixelType type, index_t count, unsigned long long* counter,
                     cudaStream_t stream);

}  // namespace convolume::gpu
