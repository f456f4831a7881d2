// SPDX-License-Identifier: Apache-2.0
#pragma once
// The compiled CUDA kernels over segments, as untyped pointers.

#include <cuda_runtime_api.h>

#include <vector>

#include "convolume/shape.hpp"

namespace convolume::gpu {

/// The CUDA kernels of one segment length. `filter` takes a SegmentJob<Real> and the function
/// object, `spectra` takes a SpectraJob<Real>, and `short_filter` a SegmentJob<float>; all have
/// equal thread blocks. `set_up` and `launch`
/// are compiled together with the CUDA kernels, since a caller's program may have another copy of
/// the CUDA runtime.
struct SegmentCudaKernels {
    int n = 0;                 ///< number of samples of a segment
    int threads = 0;           ///< number of threads of a thread block
    int segments = 0;          ///< number of segments, or of pairs of real ones, in a thread block
    int blocks_per_unit = 0;   ///< number of thread blocks that a multiprocessor holds
    index_t shared_bytes = 0;  ///< bytes of shared memory of a thread block
    const void* filter = nullptr;
    const void* spectra = nullptr;
    /// Filters if signals or results have 16 bits; null for double precision and with a function.
    const void* short_filter = nullptr;
    /// Prepares the CUDA kernels on the current device.
    cudaError_t (*set_up)(const SegmentCudaKernels& self) = nullptr;
    cudaError_t (*launch)(const SegmentCudaKernels& self, const void* kernel, unsigned blocks,
                          void** arguments, cudaStream_t stream) = nullptr;
};

/// The CUDA kernels of a caller's function: SampleFunction::device_kernels() points to one.
struct FunctionCudaKernels {
    std::vector<SegmentCudaKernels> segments;
    const void* function = nullptr;  ///< the function object
    /// Enqueues the function over `count` samples at `from` in device memory, for filters that are
    /// too long for segments.
    cudaError_t (*apply)(const FunctionCudaKernels& self, const void* from, void* to, index_t count,
                         cudaStream_t stream) = nullptr;
};

/// Returns the CUDA kernels without a function, ordered by segment length. Each type of data is
/// compiled in a file of its own.
template <class Real, bool complex_data>
const std::vector<SegmentCudaKernels>& plain_segment_kernels();

}  // namespace convolume::gpu
