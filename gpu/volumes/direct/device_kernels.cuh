// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels of sums in space, and the block that a device gives them.

#include "gpu/fft/device.cuh"
#include "gpu/volumes/direct/direct_kernel.hpp"

namespace convolume::gpu {

struct DirectBlock : DeviceBlock {
    /// As in DeviceBlock; a pack at a time, too.
    template <class T>
    __device__ __forceinline__ T load(const T* p) const {
        if constexpr (sizeof(T) == pack_bytes)
            return __builtin_bit_cast(T, __ldg(reinterpret_cast<const int4*>(p)));
        else
            return DeviceBlock::load(p);
    }
};

template <int Width, int Height, template <class, class> class Source, class T, class Taps>
__global__ void __launch_bounds__(DirectTile::threads, 2)
    direct_kernel(const __grid_constant__ DirectJob<T, Taps> job) {
    direct_sums<Width, Height, Source>(DirectBlock{}, job);
}

}  // namespace convolume::gpu
