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

/// Arguments to make the kernel of a part of a DIF split from the compact kernel. It is modulated
/// by the part's first frequency and folded to the part's length (decompose/part.hpp has the
/// formula).
struct PartKernel {
    const void* taps = nullptr;  ///< taps of the compact kernel, contiguous
    PixelType taps_type = PixelType::float32;
    Shape3 shape;                     ///< shape of `taps`
    const double* factors = nullptr;  ///< factor of every plane: real, imaginary
    void* target = nullptr;           ///< the part's kernel: `planes` planes, contiguous
    PixelType target_type = PixelType::float32;
    index_t planes = 1;
    index_t period = 1;  ///< number of planes of the part: taps beyond are folded back
};

/// Makes the kernel of a part, with floating-point pixels. A real target keeps the real part.
///     target(n) = Σ_q taps(n + q·period) factors(n + q·period)
void make_part_kernel(const PartKernel& part, cudaStream_t stream);

}  // namespace convolume::gpu
