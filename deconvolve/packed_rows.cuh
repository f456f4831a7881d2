// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows in device memory are packed and unpacked (packed_rows.hpp), each by a warp.

#include "deconvolve/device_stages.cuh"
#include "deconvolve/packed_rows.hpp"

namespace convolume::deconvolve {

template <class Work>
__device__ void for_own_rows(index_t rows, const Work& work) {
    constexpr int warps = stage_threads / warp;
    for (index_t y = blockIdx.x * index_t{warps} + threadIdx.x / warp; y < rows;
         y += index_t{gridDim.x} * warps)
        work(y, static_cast<int>(threadIdx.x % warp));
}

static __global__ void pack_kernel(PackedRows rows, index_t row_count, const float* samples,
                                   char* packed) {
    for_own_rows(row_count, [&](index_t y, int lane) {
        const float* const row = samples + y * rows.count;
        float largest = 0;
        for (index_t x = lane; x < rows.count; x += warp) largest = fmaxf(largest, fabsf(row[x]));
        for (int apart = warp / 2; apart > 0; apart /= 2)
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, apart));
        if (lane == 0) *rows.step(packed, y) = PackedRows::step_of(largest);
        const float steps = PackedRows::steps_of(largest);
        std::int16_t* const target = rows.samples(packed, y);
        for (index_t x = lane; x < rows.count; x += warp)
            target[x] = PackedRows::packed(row[x], steps);
    });
}

static __global__ void unpack_kernel(PackedRows rows, index_t row_count, const char* packed,
                                     float* samples) {
    for_own_rows(row_count, [&](index_t y, int lane) {
        const float step = *rows.step(packed, y);
        const std::int16_t* const row = rows.samples(packed, y);
        for (index_t x = lane; x < rows.count; x += warp)
            samples[y * rows.count + x] = step * static_cast<float>(row[x]);
    });
}

inline void pack_rows(const PackedRows& rows, index_t row_count, const float* samples, char* packed,
                      cudaStream_t stream) {
    pack_kernel<<<stage_blocks(row_count * warp), stage_threads, 0, stream>>>(rows, row_count,
                                                                              samples, packed);
    gpu::check(cudaGetLastError(), "packing rows");
}
inline void unpack_rows(const PackedRows& rows, index_t row_count, const char* packed,
                        float* samples, cudaStream_t stream) {
    unpack_kernel<<<stage_blocks(row_count * warp), stage_threads, 0, stream>>>(rows, row_count,
                                                                                packed, samples);
    gpu::check(cudaGetLastError(), "unpacking rows");
}

}  // namespace convolume::deconvolve
