#pragma once
// Handles of one CUDA device that free what they hold, and its statuses as errors.

#include <cuda_runtime_api.h>

#include "convolume/error.hpp"
#include "convolume/options.hpp"

namespace convolume::deconvolve {

inline void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());  // one that sticks comes again
    if (status == cudaErrorMemoryAllocation)
        throw OutOfMemory(message("the GPU has no memory left for ", what,
                                  ": close other programs on it, or use the CPU (--device cpu)"));
    throw DeviceFailure(message("the GPU failed while ", what, ": ", cudaGetErrorString(status),
                                "; run again, or use the CPU (--device cpu)"));
}

/// Makes a device current, and the one before it at the end.
class CurrentDevice {
  public:
    explicit CurrentDevice(int device) {
        check(cudaGetDevice(&before_), "asking for the current device");
        check(cudaSetDevice(device), "choosing a device");
    }
    ~CurrentDevice() { static_cast<void>(cudaSetDevice(before_)); }  // it was current before
    CurrentDevice(const CurrentDevice&) = delete;
    CurrentDevice& operator=(const CurrentDevice&) = delete;

  private:
    int before_ = 0;
};

/// Memory of the device that was current when it was made.
class DeviceMemory {
  public:
    DeviceMemory(index_t bytes, const char* purpose) {
        check(cudaMalloc(&data_, static_cast<std::size_t>(bytes)), purpose);
    }
    ~DeviceMemory() { static_cast<void>(cudaFree(data_)); }  // a lost device has nothing to free
    DeviceMemory(DeviceMemory&& other) noexcept : data_(other.data_) { other.data_ = nullptr; }
    DeviceMemory& operator=(DeviceMemory&&) = delete;

    template <class T>
    T* as() const {
        return static_cast<T*>(data_);
    }

  private:
    void* data_ = nullptr;
};

class DeviceQueue {
  public:
    DeviceQueue() {
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
    }
    ~DeviceQueue() { static_cast<void>(cudaStreamDestroy(stream_)); }
    DeviceQueue(const DeviceQueue&) = delete;
    DeviceQueue& operator=(const DeviceQueue&) = delete;
    operator cudaStream_t() const { return stream_; }
    void wait() const { check(cudaStreamSynchronize(stream_), "deconvolving"); }

  private:
    cudaStream_t stream_ = nullptr;
};

}  // namespace convolume::deconvolve
