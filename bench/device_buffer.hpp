// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "convolume/shape.hpp"
#include "gpu/runtime/check.hpp"

namespace convolume::gpu {

/// Memory of the current GPU, filled with NaN or with samples of the host.
template <class T>
class DeviceBuffer {
  public:
    explicit DeviceBuffer(index_t count) : count_(count) {
        check(cudaMalloc(&data_, bytes()), "a benchmark");
        check(cudaMemset(data_, 0xff, bytes()), "poisoning memory");
    }
    explicit DeviceBuffer(const std::vector<T>& host)
        : DeviceBuffer(static_cast<index_t>(host.size())) {
        check(cudaMemcpy(data_, host.data(), bytes(), cudaMemcpyHostToDevice), "copying");
    }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    ~DeviceBuffer() { cudaFree(data_); }

    T* get() const { return static_cast<T*>(data_); }
    std::size_t bytes() const { return static_cast<std::size_t>(count_) * sizeof(T); }
    std::vector<T> download() const {
        std::vector<T> host(static_cast<std::size_t>(count_));
        check(cudaMemcpy(host.data(), data_, bytes(), cudaMemcpyDeviceToHost), "copying");
        return host;
    }

  private:
    void* data_ = nullptr;
    index_t count_;
};

}  // namespace convolume::gpu
