// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gpu/runtime/check.hpp"
#include "gpu/volumes/nonfinite.hpp"

namespace convolume::gpu {

namespace {

template <class Real>
__global__ void count_kernel(const Real* values, index_t count, unsigned long long* counter) {
    unsigned found = 0;
    for (index_t i = blockIdx.x * index_t{blockDim.x} + threadIdx.x; i < count;
         i += index_t{gridDim.x} * blockDim.x)
        found += !isfinite(values[i]);
    if (found) atomicAdd(counter, static_cast<unsigned long long>(found));
}

template <class Real>
void count_reals(const void* values, index_t count, unsigned long long* counter,
                 cudaStream_t stream) {
    constexpr int threads = 256;
    const auto blocks =
        static_cast<unsigned>(std::clamp<index_t>(ceil_div(count, 8 * threads), 1, 4096));
    count_kernel<<<blocks, threads, 0, stream>>>(static_cast<const Real*>(values), count, counter);
    check(cudaGetLastError(), "searching for NaN");
}

}  // namespace

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
