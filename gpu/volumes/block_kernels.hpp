// SPDX-License-Identifier: Apache-2.0
#pragma once
// CUDA kernels beside the transforms of a block. Calls are asynchronous; pointers are to device
// memory.

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

/// The adjoint of continuing an image by its boundary.
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

/// Adds to `*counter` how many components of `count` pixels are not finite. Integer pixels have
/// none.
void count_nonfinite(const void* pixels, PixelType type, index_t count, unsigned long long* counter,
                     cudaStream_t stream);

/// A kernel's part of a DIF split, made from the compact kernel: modulated by the part's first
/// frequency and folded to its length (decompose/part.hpp has the formula).
struct PartKernel {
    const void* taps = nullptr;  ///< contiguous
    PixelType taps_type = PixelType::float32;
    Shape3 shape;                     ///< of `taps`
    const double* factors = nullptr;  ///< of every plane: real, imaginary
    void* target = nullptr;           ///< contiguous, `planes` planes
    PixelType target_type = PixelType::float32;
    index_t planes = 1;
    index_t period = 1;  ///< planes of the part: what lies beyond is folded back
};

/// target(n) = Σ_q taps(n + q·period) factors(n + q·period), for floating-point pixels; a real
/// target keeps the real part.
void make_part_kernel(const PartKernel& part, cudaStream_t stream);

}  // namespace convolume::gpu
