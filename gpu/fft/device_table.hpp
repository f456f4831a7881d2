// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts about a device that passes look up once and keep until the process ends: tables in its
// memory, and the number of thread blocks of a CUDA kernel that it runs at a time.

#include <cuda_runtime_api.h>

#include "convolume/shape.hpp"
#include "gpu/fft/plan.hpp"

namespace convolume::gpu {

/// Returns the twiddle factors of a plan (TransformPlan::first_twiddle) on the current device.
/// The twiddle factors that rows of 2·plan.n real samples need follow them.
template <class Real>
const Complex<Real>* device_twiddles(const TransformPlan& plan, cudaStream_t stream);

/// Whether the CUDA kernel was compiled for `device`, and a thread block of it may have that much
/// shared memory.
bool can_run(const void* cuda_kernel, index_t shared_bytes, int device);
/// Returns the number of thread blocks of the CUDA kernel that the current device runs at a time,
/// or 0 if it cannot run any. Afterwards the CUDA kernel may be launched with that much shared
/// memory.
index_t resident_blocks(const void* cuda_kernel, int threads, index_t shared_bytes);

/// Returns an upper bound of resident_blocks() for thread blocks of that size, from the limits of
/// the current device alone. Unlike resident_blocks(), it does not make CUDA load the CUDA kernel's
/// code, which takes about 10 ms.
index_t most_resident_blocks(int threads);

}  // namespace convolume::gpu
