// SPDX-License-Identifier: Apache-2.0
#pragma once
// MatX as a peer: its headers, and views of device memory as its tensors.

#include <matx.h>

#include "bench/peers/rounds.cuh"

namespace convolume::peers {

using MatxComplex = cuda::std::complex<float>;

/// Returns a tensor of device memory that it does not own.
template <class T>
auto matx_vector(void* data, index_t count) {
    return matx::make_tensor<T, 1>(static_cast<T*>(data), {count});
}
template <class T>
auto matx_matrix(void* data, index_t rows, index_t columns) {
    return matx::make_tensor<T, 2>(static_cast<T*>(data), {rows, columns});
}

/// Lets the memory pool of the device, from which MatX takes temporary arrays, keep what it has.
/// Otherwise it would return them to the system at each synchronization.
inline void keep_pool_memory() {
    cudaMemPool_t pool = nullptr;
    gpu::check(cudaDeviceGetDefaultMemPool(&pool, 0), "the memory pool");
    unsigned long long bytes = ~0ULL;
    gpu::check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes),
               "the memory pool");
}

}  // namespace convolume::peers
