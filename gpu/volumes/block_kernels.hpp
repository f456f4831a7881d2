// SPDX-License-Identifier: Apache-2.0
#pragma once
// CUDA kernels of a block, apart from its transforms. Calls are asynchronous; pointers are to
// device memory.

#include <cuda_runtime_api.h>

#include "convolume/image_view.hpp"
#include "convolume/shape.hpp"

namespace convolume::gpu {

/// Table, in device memory, of the source positions along an axis that a fold adds up for each
/// target index k:
///     positions[starts[k]] … positions[starts[k + 1] - 1]
struct FoldSourceTable {
    const std::int64_t* starts = nullptr;
    const std::int64_t* positions = nullptr;
};

/// Arguments for the adjoint of continuing an image beyond its edges by a boundary.
struct FoldArguments {
    const void* extended = nullptr;  ///< continued image: contiguous, floating point
    PixelType extended_type = PixelType::float32;
    Shape3 extended_shape;
    void* target = nullptr;  ///< the image without its continuation, contiguous
    PixelType target_type = PixelType::float32;
    Shape3 target_shape;
    FoldSourceTable axes[3];
};

void fold(const FoldArguments& fold, cudaStream_t stream);

/// Adds to `*counter` the number of components of `count` pixels that are not finite. Integer
/// pixels have none.
void count_nonfinite(const void* pixels, PixelType type, index_t count, unsigned long long* counter,
                     cudaStream_t stream);

}  // namespace convolume::gpu
