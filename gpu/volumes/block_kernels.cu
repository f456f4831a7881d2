// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gpu/fft/pixel.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/grid.cuh"
#include "gpu/volumes/block_kernels.hpp"

namespace convolume::gpu {

namespace {

__global__ void fold_cuda_kernel(FoldArguments fold) {
    const Shape3 shape = fold.target_shape;
    const index_t count = shape.z * shape.y * shape.x;
    ClampTally tally;
    for (index_t i = first_item(); i < count; i += item_step()) {
        const index_t at[3] = {i / (shape.y * shape.x), i / shape.x % shape.y, i % shape.x};
        Complex<double> sum{};
        for (auto z = fold.axes[0].starts[at[0]]; z < fold.axes[0].starts[at[0] + 1]; ++z)
            for (auto y = fold.axes[1].starts[at[1]]; y < fold.axes[1].starts[at[1] + 1]; ++y)
                for (auto x = fold.axes[2].starts[at[2]]; x < fold.axes[2].starts[at[2] + 1]; ++x) {
                    const index_t from = (fold.axes[0].positions[z] * fold.extended_shape.y +
                                          fold.axes[1].positions[y]) *
                                             fold.extended_shape.x +
                                         fold.axes[2].positions[x];
                    sum = sum + load_pixel<double>(fold.extended, fold.extended_type, from, {});
                }
        store_pixel(fold.target, fold.target_type, i, sum, tally);
    }
}

template <class Real>
__global__ void count_cuda_kernel(const Real* values, index_t count, unsigned long long* counter) {
    unsigned found = 0;
    for (index_t i = first_item(); i < count; i += item_step()) found += !isfinite(values[i]);
    if (found) atomicAdd(counter, static_cast<unsigned long long>(found));
}

template <class Real>
void count_reals(const void* values, index_t count, unsigned long long* counter,
                 cudaStream_t stream) {
    const unsigned blocks = std::min(grid_blocks(ceil_div(count, 8)), 4096U);
    count_cuda_kernel<<<blocks, grid_threads, 0, stream>>>(static_cast<const Real*>(values), count,
                                                           counter);
    check(cudaGetLastError(), "searching for NaN");
}

}  // namespace

void fold(const FoldArguments& fold, cudaStream_t stream) {
    fold_cuda_kernel<<<grid_blocks(element_count(fold.target_shape)), grid_threads, 0, stream>>>(
        fold);
    check(cudaGetLastError(), "folding the result");
}

void count_nonfinite(const void* pixels, PixelType type, index_t count, unsigned long long* counter,
                     cudaStream_t stream) {
    if (is_integer(type)) return;
    const index_t reals = is_complex(type) ? 2 * count : count;
    if (type == PixelType::float32 || type == PixelType::complex64)
        count_reals<float>(pixels, reals, counter, stream);
    else
        count_reals<double>(pixels, reals, counter, stream);
}

}  // namespace convolume::gpu
