// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table of the CUDA part from which DeviceForwardModel gets its implementation.

#include <memory>
#include <optional>
#include <vector>

#include "convolume/device_stream.hpp"
#include "convolume/forward_model.hpp"

namespace convolume::forward {

/// A forward model of float or double in the memory of one GPU. Executions may be enqueued from any
/// CUDA stream and thread, and follow one another on the GPU.
class ModelOnDevice {
  public:
    virtual ~ModelOnDevice() = default;
    virtual index_t device_bytes() const = 0;
    virtual void record(std::size_t view, const void* object, void* image, DeviceStream stream) = 0;
    virtual void add_back(std::size_t view, const void* image, void* object,
                          DeviceStream stream) = 0;
};

struct ForwardBackend {
    /// Makes the model. Throws as the constructor of DeviceForwardModel.
    std::unique_ptr<ModelOnDevice> (*make_model)(const ObjectGrid& object,
                                                 const std::vector<View>& views,
                                                 const ForwardModelOptions& options, int device,
                                                 std::optional<index_t> max_bytes);
};

}  // namespace convolume::forward

/// Defined in the CUDA part, as convolume_cuda_backend is (core/gpu_backend.hpp).
extern "C" const convolume::forward::ForwardBackend convolume_cuda_forward;
