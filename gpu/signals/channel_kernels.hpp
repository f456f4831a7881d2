// SPDX-License-Identifier: Apache-2.0
#pragma once
// The compiled CUDA kernels of polyphase filter banks. Those of an analysis take a
// ChannelJob<Real>.

#include <vector>

#include "convolume/shape.hpp"

namespace convolume::gpu {

/// A CUDA kernel that runs channelize_frames() or walk_frames() for `channels` channels.
struct ChannelCudaKernel {
    int channels = 0;
    int threads = 0;           ///< number of threads of a thread block
    int frames = 0;            ///< number of frames that a thread block computes at once
    index_t shared_bytes = 0;  ///< bytes of shared memory of a thread block
    const void* kernel = nullptr;
    // Kernels of walk_frames() have these numbers. They are 0 in those of channelize_frames().
    int terms = 0;              ///< most taps of each channel
    int blocks_per_unit = 0;    ///< number of thread blocks that a multiprocessor has to hold
    index_t fewest_frames = 0;  ///< least number of frames of a signal, and of a thread block

    bool walks() const { return terms > 0; }
};
/// Returns the CUDA kernels; those of walk_frames() come first.
template <class Real>
const std::vector<ChannelCudaKernel>& channel_cuda_kernels();

/// Returns the CUDA kernel that runs sum_frames().
template <class Real>
const void* channel_sum_cuda_kernel();

/// Returns the CUDA kernel that runs join_frames(), which takes a SynthesisJob<Real>.
template <class Real>
const void* join_cuda_kernel(bool slides, bool complex_data);

/// Returns the CUDA kernel that runs copy_frames(), which takes a FrameCopyJob<Real>.
template <class Real>
const void* frame_copy_cuda_kernel();

}  // namespace convolume::gpu
