// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversion of CUDA's status codes to convolume's exceptions.

#include <cuda_runtime_api.h>

namespace convolume::gpu {

/// Throws an exception unless `status` is a success: OutOfMemory (no device memory),
/// GpuUnavailable (no code for this device or driver), DeviceFailure (the device is lost or faulty)
/// or InternalError. `what` says what was tried, e.g. "copying to
/// the device".
void check(cudaError_t status, const char* what);

}  // namespace convolume::gpu
