// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts that passes need once of a device: tables in its memory, and how many blocks of a kernel it
// runs at a time. Kept until the process ends.

#include <cuda_runtime_api.h>

#include "convolume/shape.hpp"
#include "gpu/fft/plan.hpp"

namespace convolume::gpu {

/// Twiddle factors of a plan (TransformPlan::first_twiddle), followed by those that rows of
/// 2·plan.n real samples need, on the current device.
template <class Real>
const Complex<Real>* device_twiddles(const TransformPlan& plan, cudaStream_t stream);

/// Whether `kernel` was compiled for `device`, and a block of it may have that much shared memory.
bool can_run(const void* kernel, index_t shared_bytes, int device);
/// Blocks of `kernel` that the current device runs at a time; 0 when it cannot run any. The kernel
/// may be launched with that much shared memory afterwards.
index_t resident_blocks(const void* kernel, int threads, index_t shared_bytes);

}  // namespace convolume::gpu
