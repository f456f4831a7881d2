// SPDX-License-Identifier: Apache-2.0
#pragma once
// The forward model of objects and images that are in the memory of a GPU.

#include <memory>
#include <optional>
#include <vector>

#include "convolume/device_stream.hpp"
#include "convolume/export.hpp"
#include "convolume/forward_model.hpp"

namespace convolume {

/// The map of ForwardModel and its exact adjoint, for an object and images in the memory of one
/// GPU. The precision of the options, float32 or float64, is the type of their values, which are
/// contiguous and in C order, (z, y, x). After construction, it never waits for the device.
/// @code{.cpp}
/// Volume psf({3, 3, 3}, PixelType::float32);
/// std::fill_n(psf.elements<float>(), 27, 1.0F);
/// const std::vector<View> views{View{{8, 16, 16}, {{psf.view()}}}};
/// const DeviceForwardModel model(object_grid({8, 16, 16}, views), views);
/// float *object = nullptr, *image = nullptr;
/// const auto voxels = static_cast<std::size_t>(element_count(model.object().shape));
/// cudaMalloc(&object, voxels * sizeof(float));
/// cudaMalloc(&image, 8 * 16 * 16 * sizeof(float));
/// cudaMemset(object, 0, voxels * sizeof(float));
/// model.record(0, object, image);
/// model.add_back(0, image, object);
/// cudaDeviceSynchronize();
/// cudaFree(object);
/// cudaFree(image);
/// @endcode
class CONVOLUME_API DeviceForwardModel {
  public:
    /// Plans, allocates, and transforms the PSFs, which are in host memory and are copied. Only the
    /// constructor waits for the device. ForwardModelOptions::max_host_bytes is not used. The model
    /// takes at most `max_gpu_bytes` of the GPU's memory; if not given, most of what is free.
    /// Throws as ForwardModel does, and Unavailable if there is no such device.
    DeviceForwardModel(const ObjectGrid& object, const std::vector<View>& views,
                       const ForwardModelOptions& options = {}, int device = 0,
                       std::optional<index_t> max_gpu_bytes = {});

    const ObjectGrid& object() const;
    std::size_t views() const;
    /// Returns the extents of the image of a view.
    const Shape3& image(std::size_t view) const;
    /// Returns the bytes of device memory that the model holds, beside the caller's arrays.
    index_t device_bytes() const;

    /// Enqueues the image of one view, A_v x, on the CUDA stream `stream`. `object` and `image` are
    /// in the device's memory and do not overlap. Executions follow one another on the device, also
    /// those from other CUDA streams and threads. Throws DeviceFailure.
    void record(std::size_t view, const void* object, void* image, DeviceStream stream = {}) const;
    /// Enqueues an addition of the adjoint of one view, A_vᵀ y, to `object`; as record().
    void add_back(std::size_t view, const void* image, void* object,
                  DeviceStream stream = {}) const;

  private:
    struct Impl;
    Hidden<Impl> impl_;
};

}  // namespace convolume
