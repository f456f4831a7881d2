// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles the kernels of one type of samples.

#include "gpu/volumes/direct/compiled_kernels.hpp"
#include "gpu/volumes/direct/device_kernels.cuh"
#include "gpu/volumes/direct/taps.hpp"

namespace convolume::gpu {

/// The fastest of sample_source.hpp by measurement (bench/gpu_direct.cu compares them): what a
/// thread block reads again comes from the L1 cache as fast as from shared memory, without
/// barriers.
template <class T, class Context>
using ChosenSamples = CachedSamples<T, Context>;

template <class T>
DirectKernel find_direct_kernel(const TapLayout& layout) {
    DirectKernel found;
    with_tap_group<T>(layout, [&](auto width, auto height) {
        constexpr int w = decltype(width)::value, h = decltype(height)::value;
        const auto pointer = [](auto* kernel) { return reinterpret_cast<const void*>(kernel); };
        found.kernel = layout.are_constant<T>()
                           ? pointer(direct_kernel<w, h, ChosenSamples, T, ConstantTaps<T>>)
                           : pointer(direct_kernel<w, h, ChosenSamples, T, GlobalTaps<T>>);
        found.shared_bytes = ChosenSamples<T, DirectBlock>::bytes(layout);
    });
    return found;
}

}  // namespace convolume::gpu
