// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every status of CUDA becomes one of convolume's errors.

#include <cuda_runtime_api.h>

namespace convolume::gpu {

/// Throws OutOfMemory (the device has no room), DeviceFailure (it is lost or out of order) or
/// InternalError; `what` says what was tried, e.g. "copying to the device".
void check(cudaError_t status, const char* what);

}  // namespace convolume::gpu
