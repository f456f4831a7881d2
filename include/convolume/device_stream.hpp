// SPDX-License-Identifier: Apache-2.0
#pragma once
// CUDA streams of callers.

#include "convolume/export.hpp"

struct CUstream_st;  // declared by CUDA; a cudaStream_t is a pointer to it

namespace convolume {

/// A CUDA stream. A cudaStream_t converts to it; without one it is CUDA's default stream.
/// @code{.cpp}
/// cudaStream_t stream = nullptr;
/// cudaStreamCreate(&stream);
/// const DeviceStream own(stream), by_default;
/// assert(own.get() == stream && by_default.get() == nullptr);
/// cudaStreamDestroy(stream);
/// @endcode
class CONVOLUME_API DeviceStream {
  public:
    constexpr DeviceStream() = default;
    constexpr DeviceStream(CUstream_st* stream) : stream_(stream) {}
    constexpr CUstream_st* get() const { return stream_; }

  private:
    CUstream_st* stream_ = nullptr;
};

}  // namespace convolume
