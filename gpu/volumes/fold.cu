// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gpu/fft/pixel.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/volumes/fold.hpp"

namespace convolume::gpu {

namespace {

__global__ void fold_kernel(Fold fold) {
    const Shape3 shape = fold.target_shape;
    const index_t count = shape.z * shape.y * shape.x;
    ClampTally tally;
    for (index_t i = blockIdx.x * index_t{blockDim.x} + threadIdx.x; i < count;
         i += index_t{gridDim.x} * blockDim.x) {
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

}  // namespace

void fold(const Fold& fold, cudaStream_t stream) {
    constexpr int threads = 256;
    const index_t count = fold.target_shape.z * fold.target_shape.y * fold.target_shape.x;
    const auto blocks =
        static_cast<unsigned>(std::clamp<index_t>(ceil_div(count, threads), 1, 1 << 16));
    fold_kernel<<<blocks, threads, 0, stream>>>(fold);
    check(cudaGetLastError(), "folding the result");
}

}  // namespace convolume::gpu
