// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared memory that thread blocks may take.

#include "convolume/shape.hpp"

namespace convolume::gpu {

/// Lets thread blocks of a CUDA kernel take `bytes` of shared memory on the current device. The
/// limit of a CUDA kernel only grows, as others may have asked for more of the same one. Throws
/// like check(), whose `what` it takes.
void allow_shared_bytes(const void* cuda_kernel, index_t bytes, const char* what);

}  // namespace convolume::gpu
