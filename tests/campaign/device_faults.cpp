// SPDX-License-Identifier: Apache-2.0
// A library to be loaded before a program that uses CUDA's shared runtime (LD_PRELOAD): makes calls
// of the runtime fail. CONVOLUME_DEVICE_FAULT names the fault, CONVOLUME_DEVICE_FAULT_AFTER the
// number n of the call, from 0:
//   malloc   the n-th allocation on the device fails
//   host     the n-th allocation of page-locked memory fails
//   call     the n-th launch, copy or synchronization and all later calls fail, as if the device
//            were lost
//   hang     the n-th synchronization takes CONVOLUME_DEVICE_FAULT_SECONDS longer
//   none     there is no device
// The file CONVOLUME_DEVICE_FAULT_FILE is created when the fault occurs.

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace {

constexpr cudaError_t lost_error = cudaErrorIllegalAddress;

std::atomic<bool> lost{false};
// Whether a call was refused, and the program has not yet asked for the error.
std::atomic<bool> refused{false};

const char* setting(const char* name) {
    const char* const value = std::getenv(name);
    return value ? value : "";
}

bool is(const char* fault) {
    return std::strcmp(setting("CONVOLUME_DEVICE_FAULT"), fault) == 0;
}

/// Returns whether this is the call at which `fault` occurs, and counts the calls that it counts.
bool is_due(const char* fault) {
    static std::atomic<int> left{std::atoi(setting("CONVOLUME_DEVICE_FAULT_AFTER"))};
    if (!is(fault) || left.fetch_sub(1) != 0) return false;
    const int file = ::open(setting("CONVOLUME_DEVICE_FAULT_FILE"), O_CREAT | O_WRONLY, 0600);
    if (file >= 0) ::close(file);
    return true;
}

bool is_lost() {
    if (is_due("call")) lost = true;
    return lost;
}

bool is_refused(const char* fault) {
    if (!is_due(fault)) return false;
    refused = true;
    return true;
}

void hang() {
    if (is_due("hang"))
        ::sleep(static_cast<unsigned>(std::atoi(setting("CONVOLUME_DEVICE_FAULT_SECONDS"))));
}

template <class Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// Defines the function `name` of the runtime, which calls the real one unless `before` returns.
#define CONVOLUME_CALL(name, parameters, arguments, before)                         \
    extern "C" __attribute__((visibility("default"))) cudaError_t name parameters { \
        static const auto real = next<cudaError_t(*) parameters>(#name);            \
        before;                                                                     \
        return real arguments;                                                      \
    }
#define CONVOLUME_MAY_BE_LOST \
    if (is_lost()) return lost_error
#define CONVOLUME_MAY_BE_REFUSED(fault) \
    if (lost) return lost_error;        \
    if (is_refused(fault)) return cudaErrorMemoryAllocation

CONVOLUME_CALL(cudaMalloc, (void** to, size_t bytes), (to, bytes),
               CONVOLUME_MAY_BE_REFUSED("malloc"))
CONVOLUME_CALL(cudaHostAlloc, (void** to, size_t bytes, unsigned flags), (to, bytes, flags),
               CONVOLUME_MAY_BE_REFUSED("host"))
CONVOLUME_CALL(cudaHostRegister, (void* at, size_t bytes, unsigned flags), (at, bytes, flags),
               CONVOLUME_MAY_BE_REFUSED("host"))
CONVOLUME_CALL(cudaMemcpy, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind),
               (to, from, bytes, kind), CONVOLUME_MAY_BE_LOST)
CONVOLUME_CALL(cudaMemcpyAsync,
               (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
               (to, from, bytes, kind, stream), CONVOLUME_MAY_BE_LOST)
CONVOLUME_CALL(cudaMemcpy2DAsync,
               (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                size_t height, cudaMemcpyKind kind, cudaStream_t stream),
               (to, to_pitch, from, from_pitch, width, height, kind, stream), CONVOLUME_MAY_BE_LOST)
CONVOLUME_CALL(cudaMemsetAsync, (void* at, int value, size_t bytes, cudaStream_t stream),
               (at, value, bytes, stream), CONVOLUME_MAY_BE_LOST)
CONVOLUME_CALL(cudaLaunchKernel,
               (const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                cudaStream_t stream),
               (kernel, grid, block, arguments, shared, stream), CONVOLUME_MAY_BE_LOST)
// Functions that nvcc 13 calls for kernel<<<…>>>(…).
CONVOLUME_CALL(__cudaLaunchKernel,
               (cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                cudaStream_t stream),
               (kernel, grid, block, arguments, shared, stream), CONVOLUME_MAY_BE_LOST)
CONVOLUME_CALL(cudaStreamSynchronize, (cudaStream_t stream), (stream), hang();
               CONVOLUME_MAY_BE_LOST)
CONVOLUME_CALL(cudaEventSynchronize, (cudaEvent_t event), (event), hang(); CONVOLUME_MAY_BE_LOST)
CONVOLUME_CALL(cudaDeviceSynchronize, (), (), hang(); CONVOLUME_MAY_BE_LOST)
CONVOLUME_CALL(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream),
               if (lost) return lost_error)
CONVOLUME_CALL(cudaFree, (void* at), (at), if (lost) return lost_error)
CONVOLUME_CALL(cudaMemGetInfo, (size_t * free, size_t* total), (free, total),
               if (lost) return lost_error)
CONVOLUME_CALL(
    cudaGetLastError, (), (), if (lost) return lost_error; if (refused.exchange(false)) {
        static_cast<void>(real());
        return cudaErrorMemoryAllocation;
    })
CONVOLUME_CALL(
    cudaGetDeviceCount, (int* count), (count), if (is("none")) {
        *count = 0;
        return cudaErrorNoDevice;
    })
