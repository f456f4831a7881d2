// SPDX-License-Identifier: Apache-2.0
#pragma once
// The adjoint of continuing an image by its boundary, on the device.

#include <cuda_runtime_api.h>

#include "convolume/image_view.hpp"
#include "convolume/shape.hpp"

namespace convolume::gpu {

/// For every target index along an axis, the positions that are added up there:
/// positions[starts[k]] … positions[starts[k + 1] - 1]. On the device.
struct FoldAxis {
    const std::int64_t* starts = nullptr;
    const std::int64_t* positions = nullptr;
};

struct Fold {
    const void* extended = nullptr;  ///< contiguous, floating point
    PixelType extended_type = PixelType::float32;
    Shape3 extended_shape;
    void* target = nullptr;  ///< contiguous
    PixelType target_type = PixelType::float32;
    Shape3 target_shape;
    FoldAxis axes[3];
};

void fold(const Fold& fold, cudaStream_t stream);

}  // namespace convolume::gpu
