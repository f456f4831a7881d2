#pragma once
// The kernels, and the block that a device gives them.

#include "fft/column_kernel.hpp"
#include "fft/row_kernel.hpp"

namespace convolume::gpu {

/// A block on a device.
struct DeviceBlock {
    __device__ __forceinline__ int thread() const { return static_cast<int>(threadIdx.x); }
    __device__ __forceinline__ index_t block() const { return blockIdx.x; }
    __device__ __forceinline__ index_t blocks() const { return gridDim.x; }
    __device__ __forceinline__ char* shared() const {
        extern __shared__ __align__(16) char memory[];
        return memory;
    }
    __device__ __forceinline__ void sync() const { __syncthreads(); }

    /// Reads what no thread writes during the kernel.
    template <class T>
    __device__ __forceinline__ T load(const T* p) const {
        if constexpr (sizeof(T) == 16) {
            const auto v = __ldg(reinterpret_cast<const double2*>(p));
            return {v.x, v.y};
        } else if constexpr (is_complex_pixel<T>) {
            const auto v = __ldg(reinterpret_cast<const float2*>(p));
            return {v.x, v.y};
        } else {
            return __ldg(p);
        }
    }
    __device__ __forceinline__ void sync_warp() const { __syncwarp(); }
    /// Copies 16 bytes to shared memory, which this warp reads after wait_copies().
    __device__ __forceinline__ void copy_async(void* to, const void* from) const {
#if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(
                         static_cast<unsigned>(__cvta_generic_to_shared(to))),
                     "l"(from)
                     : "memory");
#else
        *static_cast<float4*>(to) = *static_cast<const float4*>(from);
#endif
    }
    __device__ __forceinline__ void wait_copies() const {
#if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.wait_all;" ::: "memory");
#endif
        __syncwarp();
    }
    __device__ __forceinline__ void add(unsigned long long* counter,
                                        unsigned long long value) const {
        atomicAdd(counter, value);
    }
};

template <class Real, int N>
__global__ void __launch_bounds__(ColumnShape<Real, N>::threads,
                                  ColumnShape<Real, N>::blocks_per_unit)
    column_kernel(const __grid_constant__ ColumnJob<Real> job) {
    column_pass<Real, N>(DeviceBlock{}, job);
}

template <class Real, int N>
__global__ void __launch_bounds__(RowShape<Real, N>::threads, RowShape<Real, N>::blocks_per_unit)
    row_kernel(const __grid_constant__ RowJob<Real> job) {
    row_pass<Real, N>(DeviceBlock{}, job);
}

}  // namespace convolume::gpu
