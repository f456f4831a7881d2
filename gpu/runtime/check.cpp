#include "gpu/runtime/check.hpp"

#include <atomic>

#include "convolume/error.hpp"

namespace convolume::gpu {

namespace {
std::atomic<Fault> fault_kind{Fault::none};
std::atomic<int> fault_countdown{0};
}  // namespace

void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());  // one that sticks to the device comes again
    switch (status) {
        case cudaErrorMemoryAllocation:
            throw OutOfMemory(message("the GPU has no memory left for ", what,
                                      ": close other programs on it, or lower its memory limit"));
        case cudaErrorInvalidValue:
        case cudaErrorInvalidConfiguration:
        case cudaErrorLaunchOutOfResources:
            throw InternalError(
                message("CUDA refused ", what, " with \"", cudaGetErrorString(status), "\""));
        default:
            throw DeviceFailure(message("the GPU failed while ", what, ": ",
                                        cudaGetErrorString(status),
                                        "; run again, or use the CPU (--device cpu)"));
    }
}

void check(cufftResult status, const char* what) {
    switch (status) {
        case CUFFT_SUCCESS:
            return;
        case CUFFT_ALLOC_FAILED:
            throw OutOfMemory(message("the GPU has no memory left for ", what,
                                      ": close other programs on it, or lower its memory limit"));
        case CUFFT_EXEC_FAILED:
        case CUFFT_SETUP_FAILED:
        case CUFFT_INTERNAL_ERROR:
            throw DeviceFailure(message("the GPU failed while ", what, ": cuFFT status ",
                                        static_cast<int>(status),
                                        "; run again, or use the CPU (--device cpu)"));
        default:
            throw InternalError(
                message("cuFFT refused ", what, " with status ", static_cast<int>(status)));
    }
}

void inject_fault(Fault kind, int countdown) {
    fault_countdown = countdown;
    fault_kind = countdown > 0 ? kind : Fault::none;
}

bool fault_due(Fault kind) {
    return fault_kind.load(std::memory_order_relaxed) == kind && fault_countdown.fetch_sub(1) == 1;
}

}  // namespace convolume::gpu
