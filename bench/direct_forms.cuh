// SPDX-License-Identifier: Apache-2.0
#pragma once
// The four forms of direct sums in 2D that textbooks teach, with one output a thread: Hwu, Kirk and
// El Hajj, Programming Massively Parallel Processors, 4th ed., chapter 7. gpu_direct.cu times them
// and the library's own sums. In 1D, plane and filter have height 1.

#include "convolume/shape.hpp"

namespace convolume::gpu::forms {

/// A 2D correlation with a filter of odd extents. Samples outside the plane are 0.
struct PlaneCorrelation {
    const float* samples;
    const float* taps;  ///< taps in device memory; constant_taps holds a copy of them
    float* results;
    index_t width, height;
    int reach_x, reach_y;  ///< number of taps on each side of the middle tap
};

constexpr int most_constant_taps = 16384;  // fills the 64 KiB of constant memory
__constant__ float constant_taps[most_constant_taps];

struct GlobalTaps {
    static __device__ float at(const PlaneCorrelation& p, int i) { return p.taps[i]; }
};
struct ConstantTaps {
    static __device__ float at(const PlaneCorrelation&, int i) { return constant_taps[i]; }
};

__device__ inline float sample_or_zero(const PlaneCorrelation& p, index_t y, index_t x) {
    return y >= 0 && y < p.height && x >= 0 && x < p.width ? p.samples[y * p.width + x] : 0.0f;
}

/// Returns the output that this thread computes.
struct Position {
    index_t y, x;
    __device__ Position()
        : y(index_t{blockIdx.y} * blockDim.y + threadIdx.y),
          x(index_t{blockIdx.x} * blockDim.x + threadIdx.x) {}
    __device__ bool inside(const PlaneCorrelation& p) const { return y < p.height && x < p.width; }
};

/// Computes outputs with every sample read from device memory, through the caches.
template <class Taps>
__global__ void correlate_through_caches(const PlaneCorrelation p) {
    const Position at;
    if (!at.inside(p)) return;
    float sum = 0;
    int tap = 0;
    for (int j = -p.reach_y; j <= p.reach_y; ++j)
        for (int i = -p.reach_x; i <= p.reach_x; ++i)
            sum += Taps::at(p, tap++) * sample_or_zero(p, at.y + j, at.x + i);
    p.results[at.y * p.width + at.x] = sum;
}

/// Computes outputs from shared memory, into which a thread block first copies its samples and
/// halo.
static __global__ void correlate_tile_with_halo(const PlaneCorrelation p) {
    extern __shared__ float tile[];
    const Position at;
    const int tile_width = static_cast<int>(blockDim.x) + 2 * p.reach_x;
    const int tile_height = static_cast<int>(blockDim.y) + 2 * p.reach_y;
    for (int y = static_cast<int>(threadIdx.y); y < tile_height; y += static_cast<int>(blockDim.y))
        for (int x = static_cast<int>(threadIdx.x); x < tile_width;
             x += static_cast<int>(blockDim.x))
            tile[y * tile_width + x] =
                sample_or_zero(p, index_t{blockIdx.y} * blockDim.y + y - p.reach_y,
                               index_t{blockIdx.x} * blockDim.x + x - p.reach_x);
    __syncthreads();
    if (!at.inside(p)) return;
    float sum = 0;
    int tap = 0;
    for (int j = 0; j <= 2 * p.reach_y; ++j)
        for (int i = 0; i <= 2 * p.reach_x; ++i)
            sum += constant_taps[tap++] * tile[(static_cast<int>(threadIdx.y) + j) * tile_width +
                                               static_cast<int>(threadIdx.x) + i];
    p.results[at.y * p.width + at.x] = sum;
}

/// Computes outputs from shared memory for a thread block's own samples, and reads the halo through
/// the caches.
static __global__ void correlate_tile_with_cached_halo(const PlaneCorrelation p) {
    extern __shared__ float tile[];
    const Position at;
    const int width = static_cast<int>(blockDim.x), height = static_cast<int>(blockDim.y);
    const int tile_y = static_cast<int>(threadIdx.y), tile_x = static_cast<int>(threadIdx.x);
    tile[tile_y * width + tile_x] = sample_or_zero(p, at.y, at.x);
    __syncthreads();
    if (!at.inside(p)) return;
    float sum = 0;
    int tap = 0;
    for (int j = -p.reach_y; j <= p.reach_y; ++j)
        for (int i = -p.reach_x; i <= p.reach_x; ++i) {
            const int y = tile_y + j, x = tile_x + i;
            const bool in_tile = y >= 0 && y < height && x >= 0 && x < width;
            sum += constant_taps[tap++] *
                   (in_tile ? tile[y * width + x] : sample_or_zero(p, at.y + j, at.x + i));
        }
    p.results[at.y * p.width + at.x] = sum;
}

}  // namespace convolume::gpu::forms
