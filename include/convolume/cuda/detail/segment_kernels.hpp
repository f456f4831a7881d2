// SPDX-License-Identifier: Apache-2.0
#pragma once
// The compiled kernels over segments, without their types.

#include <cuda_runtime_api.h>

#include <vector>

#include "convolume/shape.hpp"

namespace convolume::gpu {

/// The kernels of one segment length. `filter` takes a SegmentJob<Real> and the function object,
/// `spectra` a SpectraJob<Real>; the thread blocks of both are alike. They are set up and launched
/// where they were compiled: a caller's program may have another copy of the CUDA runtime.
struct SegmentCudaKernels {
    int n = 0;
    int threads = 0;   ///< of a thread block
    int segments = 0;  ///< side by side in a thread block, or pairs of real ones
    int blocks_per_unit = 0;
    index_t shared_bytes = 0;
    const void* filter = nullptr;
    const void* spectra = nullptr;
    cudaError_t (*set_up)(const SegmentCudaKernels& self) = nullptr;  ///< on the current device
    cudaError_t (*launch)(const SegmentCudaKernels& self, const void* kernel, unsigned blocks,
                          void** arguments, cudaStream_t stream) = nullptr;
};

/// The CUDA kernels of a caller's function: SampleFunction::device_kernels() points to one.
struct FunctionCudaKernels {
    std::vector<SegmentCudaKernels> segments;
    const void* function = nullptr;  ///< the object itself
    /// Applied to `count` samples from `from` on that are in device memory, for filters too long
    /// for segments.
    cudaError_t (*apply)(const FunctionCudaKernels& self, const void* from, void* to, index_t count,
                         cudaStream_t stream) = nullptr;
};

/// Those without a function, by rising length. Each is compiled in a file of its own.
template <class Real, bool complex_data>
const std::vector<SegmentCudaKernels>& plain_segment_kernels();

}  // namespace convolume::gpu
