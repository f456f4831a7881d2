// SPDX-License-Identifier: Apache-2.0
#pragma once
// The CUDA kernels of direct sums in space, the thread block that a device gives them, and their
// table for one type of samples.

#include "convolume/cuda/detail/device_block.cuh"
#include "gpu/volumes/direct/direct_job.hpp"
#include "gpu/volumes/direct/direct_kernel.hpp"
#include "gpu/volumes/direct/taps.hpp"

namespace convolume::gpu {

struct DirectBlock : DeviceBlock {
    /// Loads like DeviceBlock; also loads whole packs.
    template <class T>
    __device__ __forceinline__ T load(const T* p) const {
        if constexpr (sizeof(T) == pack_bytes)
            return __builtin_bit_cast(T, __ldg(reinterpret_cast<const int4*>(p)));
        else
            return DeviceBlock::load(p);
    }
};

template <int Width, int Height, template <class, class> class Source, class T, class Taps>
__global__ void __launch_bounds__(DirectShape::threads, 2)
    direct_cuda_kernel(const __grid_constant__ DirectJob<T, Taps> job) {
    direct_sums<Width, Height, Source>(DirectBlock{}, job);
}

template <class T>
DirectCudaKernel find_direct_cuda_kernel(const TapLayout& layout) {
    DirectCudaKernel found;
    with_tap_group<T>(layout, [&](auto width, auto height) {
        constexpr int w = decltype(width)::value, h = decltype(height)::value;
        const auto pointer = [](auto* function) { return reinterpret_cast<const void*>(function); };
        found.function = layout.are_constant<T>()
                             ? pointer(direct_cuda_kernel<w, h, CachedSamples, T, ConstantTaps<T>>)
                             : pointer(direct_cuda_kernel<w, h, CachedSamples, T, GlobalTaps<T>>);
        found.shared_bytes = CachedSamples<T, DirectBlock>::bytes(layout);
    });
    return found;
}

}  // namespace convolume::gpu
