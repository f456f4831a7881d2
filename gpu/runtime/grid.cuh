// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launch grids of CUDA kernels that process items; each thread takes the items that are one grid
// apart:
//     for (index_t i = first_item(); i < count; i += item_step())

#include <algorithm>

#include "convolume/shape.hpp"

namespace convolume::gpu {

inline constexpr int grid_threads = 256;  ///< threads of a thread block

inline unsigned grid_blocks(index_t items) {
    return static_cast<unsigned>(std::clamp<index_t>(ceil_div(items, grid_threads), 1, 1 << 16));
}

__device__ inline index_t first_item() {
    return blockIdx.x * index_t{blockDim.x} + threadIdx.x;
}
__device__ inline index_t item_step() {
    return index_t{gridDim.x} * blockDim.x;
}

}  // namespace convolume::gpu
