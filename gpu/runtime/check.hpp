#pragma once
// Every status of CUDA and cuFFT becomes one of convolume's errors.

#include <cuda_runtime_api.h>
#include <cufft.h>

namespace convolume::gpu {

/// Throws OutOfMemory (the device has no room), DeviceFailure (it is lost or out of order) or
/// InternalError; `what` says what was tried, e.g. "copying to the device".
void check(cudaError_t status, const char* what);
void check(cufftResult status, const char* what);

/// For tests: lets the n-th next call of its kind fail (0: none), as if the device had refused.
enum class Fault { none, allocation, transfer };
void inject_fault(Fault kind, int countdown);
/// Whether the call that asks is the one to fail.
bool fault_due(Fault kind);

}  // namespace convolume::gpu
