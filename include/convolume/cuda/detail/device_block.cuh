// SPDX-License-Identifier: Apache-2.0
#pragma once
// The thread block of a CUDA kernel, as device code sees it.

#include <type_traits>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/shape.hpp"

namespace convolume::gpu {

/// The thread block that runs the calling code on a device. The tests have a counterpart on the
/// host.
struct DeviceBlock {
    __device__ __forceinline__ int thread() const { return static_cast<int>(threadIdx.x); }
    __device__ __forceinline__ index_t block() const { return blockIdx.x; }
    __device__ __forceinline__ index_t blocks() const { return gridDim.x; }
    __device__ __forceinline__ char* shared() const {
        extern __shared__ __align__(16) char memory[];
        return memory;
    }
    __device__ __forceinline__ void sync() const { __syncthreads(); }
    /// Waits for the 32 threads of this thread's warp.
    __device__ __forceinline__ void sync_warp() const { __syncwarp(); }
    /// Waits for `threads` threads, whole warps, at barrier `id`, which is 1 to 15.
    __device__ __forceinline__ void sync_at(int id, int threads) const {
        asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
    }

    /// Returns `value` so that the compiler can assume nothing about it.
    __device__ __forceinline__ int forget(int value) const {
        asm volatile("" : "+r"(value));
        return value;
    }

    /// Reads data that no thread writes while the CUDA kernel runs.
    template <class T>
    __device__ __forceinline__ T load(const T* p) const {
        if constexpr (sizeof(T) == 16) {
            const auto v = __ldg(reinterpret_cast<const double2*>(p));
            return {v.x, v.y};
        } else if constexpr (std::is_same_v<T, Complex<float>>) {
            const auto v = __ldg(reinterpret_cast<const float2*>(p));
            return {v.x, v.y};
        } else {
            return __ldg(p);
        }
    }
    /// Starts to copy 16 bytes to shared memory. This thread may read them after wait_copies(), and
    /// other threads after a further barrier.
    __device__ __forceinline__ void copy_async(void* to, const void* from) const {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(
                         static_cast<unsigned>(__cvta_generic_to_shared(to))),
                     "l"(from)
                     : "memory");
    }
    /// Starts to copy 16 bytes if `there`, and writes zeros otherwise, without a branch.
    __device__ __forceinline__ void copy_or_zeros_async(void* to, const void* from,
                                                        bool there) const {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(
                         static_cast<unsigned>(__cvta_generic_to_shared(to))),
                     "l"(from), "r"(there ? 16 : 0)
                     : "memory");
    }
    /// Starts to copy 4 or 8 bytes, as copy_async() copies 16.
    template <int Bytes>
    __device__ __forceinline__ void copy_few_async(void* to, const void* from) const {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(
                         static_cast<unsigned>(__cvta_generic_to_shared(to))),
                     "l"(from), "n"(Bytes)
                     : "memory");
    }
    /// Starts to copy 4 or 8 bytes if `there`, and writes zeros otherwise.
    template <int Bytes>
    __device__ __forceinline__ void copy_few_or_zeros_async(void* to, const void* from,
                                                            bool there) const {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(
                         static_cast<unsigned>(__cvta_generic_to_shared(to))),
                     "l"(from), "n"(Bytes), "r"(there ? Bytes : 0)
                     : "memory");
    }
    __device__ __forceinline__ void wait_copies() const {
        asm volatile("cp.async.wait_all;" ::: "memory");
    }
    /// Makes the copies since the last call a group. wait_copies_but_last_group() waits for all
    /// groups but the last one.
    __device__ __forceinline__ void end_copy_group() const {
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    __device__ __forceinline__ void wait_copies_but_last_group() const {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
    }
    __device__ __forceinline__ void add(unsigned long long* counter,
                                        unsigned long long value) const {
        atomicAdd(counter, value);
    }
};

// Devices before compute capability 8 have no asynchronous copies to shared memory. For such
// devices, CUDA kernels are compiled empty, and are never launched.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define CONVOLUME_PASS(call)
#else
#define CONVOLUME_PASS(call) call
#endif

}  // namespace convolume::gpu
