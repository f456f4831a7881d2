// SPDX-License-Identifier: Apache-2.0
#pragma once
// The CUDA kernels over segments, the thread block that a device gives them, and their table for
// one kind of data and function.

#include "convolume/cuda/detail/device_block.cuh"
#include "convolume/cuda/detail/segment_kernel.hpp"
#include "convolume/cuda/detail/segment_kernels.hpp"

namespace convolume::gpu {

/// Two consecutive samples, which are read at once.
template <class Real>
struct SamplePair {
    Complex<Real> first, second;
};

/// The thread block of CUDA kernels over segments.
struct SegmentBlock : DeviceBlock {
    /// Waits at a barrier for `threads` consecutive threads.
    template <int threads>
    __device__ __forceinline__ void sync_some() const {
        if constexpr (threads <= 32) {
            __syncwarp();
        } else {
            __syncthreads();
        }
    }
    using DeviceBlock::forget;
    __device__ __forceinline__ void forget(Complex<float>& v) const {
        asm volatile("" : "+f"(v.re), "+f"(v.im));
    }
    __device__ __forceinline__ void forget(Complex<double>& v) const {
        asm volatile("" : "+d"(v.re), "+d"(v.im));
    }
    template <class T>
    __device__ __forceinline__ void forget(const T*& p) const {
        asm volatile("" : "+l"(p));
    }
    __device__ __forceinline__ SamplePair<float> load_pair(const Complex<float>* p) const {
        const float4 v = __ldg(reinterpret_cast<const float4*>(p));
        return {{v.x, v.y}, {v.z, v.w}};
    }
    __device__ __forceinline__ SamplePair<double> load_pair(const Complex<double>* p) const {
        return {load(p), load(p + 1)};
    }
    /// Reads data that this thread block does not read again, past the first cache.
    template <class T>
    __device__ __forceinline__ T load_once(const T* p) const {
        if constexpr (sizeof(T) == 16) {
            const auto v = __ldcg(reinterpret_cast<const double2*>(p));
            return {v.x, v.y};
        } else if constexpr (std::is_same_v<T, Complex<float>>) {
            const auto v = __ldcg(reinterpret_cast<const float2*>(p));
            return {v.x, v.y};
        } else {
            return __ldcg(p);
        }
    }
    /// Returns the value of the thread whose number differs in the lowest bit. All threads of a
    /// warp take part.
    __device__ __forceinline__ std::uint32_t exchange_with_neighbor(std::uint32_t value) const {
        return __shfl_xor_sync(0xffffffffU, value, 1);
    }
    /// Writes data that are not read again soon, so that they need not stay in caches.
    template <class T>
    __device__ __forceinline__ void store(T* p, T value) const {
        if constexpr (std::is_same_v<T, Complex<float>>) {
            __stcs(reinterpret_cast<float2*>(p), make_float2(value.re, value.im));
        } else if constexpr (std::is_same_v<T, Complex<double>>) {
            __stcs(reinterpret_cast<double2*>(p), make_double2(value.re, value.im));
        } else {
            __stcs(p, value);
        }
    }
};

/// CUDA kernel that runs filter_segments().
template <class Real, int N, bool complex_data, class Function>
__global__ void __launch_bounds__(SegmentShape<Real, N, complex_data>::threads,
                                  SegmentShape<Real, N, complex_data>::blocks_per_unit)
    segment_kernel(const __grid_constant__ SegmentJob<Real> job, const Function function) {
    CONVOLUME_PASS((filter_segments<Real, N, complex_data>(SegmentBlock{}, job, function)));
}

/// CUDA kernel that runs filter_segments() for signals or results of 16 bits.
template <int N, bool complex_data>
__global__ void __launch_bounds__(SegmentShape<float, N, complex_data>::threads,
                                  SegmentShape<float, N, complex_data>::blocks_per_unit)
    short_segment_kernel(const __grid_constant__ SegmentJob<float> job) {
    CONVOLUME_PASS(
        (filter_segments<float, N, complex_data, true>(SegmentBlock{}, job, NoFunction{})));
}

/// CUDA kernel that runs transform_filters().
template <class Real, int N, bool complex_data>
__global__ void __launch_bounds__(SegmentShape<Real, N, complex_data>::threads)
    spectra_kernel(const __grid_constant__ SpectraJob<Real> job) {
    CONVOLUME_PASS((transform_filters<Real, N, complex_data>(SegmentBlock{}, job)));
}

static inline cudaError_t set_up_segments(const SegmentCudaKernels& self) {
    for (const void* kernel : {self.filter, self.spectra, self.short_filter}) {
        if (kernel == nullptr) continue;
        const cudaError_t status =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(self.shared_bytes));
        if (status != cudaSuccess) return status;
    }
    return cudaSuccess;
}
static inline cudaError_t launch_segments(const SegmentCudaKernels& self, const void* kernel,
                                          unsigned blocks, void** arguments, cudaStream_t stream) {
    return cudaLaunchKernel(kernel, dim3(blocks), dim3(static_cast<unsigned>(self.threads)),
                            arguments, static_cast<std::size_t>(self.shared_bytes), stream);
}

template <class Real, int N, bool complex_data, class Function>
void add_segment_kernel(std::vector<SegmentCudaKernels>& kernels) {
    using Shape = SegmentShape<Real, N, complex_data>;
    // A function reads complex samples from shared memory, which holds only real or imaginary
    // parts if samples are not exchanged whole.
    constexpr bool fits =
        Shape::fits && !(Function::present && complex_data && !Shape::exchanges_whole);
    if constexpr (fits) {
        const void* short_filter = nullptr;
        if constexpr (std::is_same_v<Real, float> && !Function::present)
            short_filter = reinterpret_cast<const void*>(&short_segment_kernel<N, complex_data>);
        kernels.push_back(
            {N, Shape::threads, Shape::segments, Shape::blocks_per_unit, Shape::shared_bytes,
             reinterpret_cast<const void*>(&segment_kernel<Real, N, complex_data, Function>),
             reinterpret_cast<const void*>(&spectra_kernel<Real, N, complex_data>), short_filter,
             set_up_segments, launch_segments});
    }
}

template <class Real, bool complex_data, class Function, int... N>
std::vector<SegmentCudaKernels> compile_segment_kernels() {
    std::vector<SegmentCudaKernels> kernels;
    (add_segment_kernel<Real, N, complex_data, Function>(kernels), ...);
    return kernels;
}

template <class Real, bool complex_data>
const std::vector<SegmentCudaKernels>& plain_segment_kernels() {
    static const auto kernels = compile_segment_kernels<Real, complex_data, NoFunction, 256, 512,
                                                        1024, 2048, 4096, 8192, 16384>();
    return kernels;
}

}  // namespace convolume::gpu
