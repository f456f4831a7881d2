// SPDX-License-Identifier: Apache-2.0
#pragma once
// Order between the CUDA streams of several devices.

#include <vector>

#include "gpu/runtime/stream.hpp"

namespace convolume::gpu {

/// CUDA streams, one on each of several devices.
using StreamList = std::vector<cudaStream_t>;

/// A point of an execution at which all devices wait for all.
class Meeting {
  public:
    explicit Meeting(const std::vector<int>& devices);
    /// Makes later work on all CUDA streams wait for the present work on all.
    void enqueue(const StreamList& streams) const;

  private:
    std::vector<int> devices_;
    std::vector<CudaEvent> events_;
};

}  // namespace convolume::gpu
