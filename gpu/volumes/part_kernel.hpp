// SPDX-License-Identifier: Apache-2.0
#pragma once
// A kernel's part of a DIF split, made on the device from the compact kernel: modulated by the
// part's first frequency and folded to its length (decompose's part.hpp has the formula).

#include <cuda_runtime_api.h>

#include "convolume/image_view.hpp"
#include "convolume/shape.hpp"

namespace convolume::gpu {

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

/// target(n) = Σ_q taps(n + q·period) factors(n + q·period), asynchronously. Of the pixel types
/// only the floating-point ones; a real target keeps the real part.
void make_part_kernel(const PartKernel& part, cudaStream_t stream);

}  // namespace convolume::gpu
