// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles the kernels over segments for one kind of data and function.

#include "convolume/cuda/detail/segment_device.cuh"
#include "convolume/cuda/detail/segment_kernels.hpp"

namespace convolume::gpu {

// Of this translation unit, hence static.
static inline cudaError_t set_up_segments(const SegmentKernel& self) {
    for (const void* kernel : {self.filter, self.spectra}) {
        const cudaError_t status =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(self.shared_bytes));
        if (status != cudaSuccess) return status;
    }
    return cudaSuccess;
}
static inline cudaError_t launch_segments(const SegmentKernel& self, const void* kernel,
                                          unsigned blocks, void** arguments, cudaStream_t stream) {
    return cudaLaunchKernel(kernel, dim3(blocks), dim3(static_cast<unsigned>(self.threads)),
                            arguments, static_cast<std::size_t>(self.shared_bytes), stream);
}

template <class Real, int N, bool complex_data, class Function>
void add_segment_kernel(std::vector<SegmentKernel>& kernels) {
    using Shape = SegmentShape<Real, N, complex_data>;
    // A function looks at whole samples in shared memory.
    constexpr bool fits = Shape::fits && !(Function::present && complex_data && !Shape::whole);
    if constexpr (fits) {
        kernels.push_back(
            {N, Shape::threads, Shape::segments, Shape::blocks_per_unit, Shape::shared_bytes,
             reinterpret_cast<const void*>(&segment_kernel<Real, N, complex_data, Function>),
             reinterpret_cast<const void*>(&spectra_kernel<Real, N, complex_data>), set_up_segments,
             launch_segments});
    }
}

template <class Real, bool complex_data, class Function, int... N>
std::vector<SegmentKernel> compile_segment_kernels() {
    std::vector<SegmentKernel> kernels;
    (add_segment_kernel<Real, N, complex_data, Function>(kernels), ...);
    return kernels;
}

template <class Real, bool complex_data>
const std::vector<SegmentKernel>& plain_segment_kernels() {
    static const auto kernels = compile_segment_kernels<Real, complex_data, NoFunction, 256, 512,
                                                        1024, 2048, 4096, 8192, 16384>();
    return kernels;
}

}  // namespace convolume::gpu
