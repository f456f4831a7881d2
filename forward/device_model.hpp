// SPDX-License-Identifier: Apache-2.0
#pragma once
// A forward model whose arrays are in the memory of one GPU.

#include <memory>
#include <optional>
#include <vector>

#include "convolume/device_convolver.hpp"
#include "convolume/forward_model.hpp"
#include "forward/planned_view.hpp"
#include "gpu/runtime/device_memory.hpp"

namespace convolume::forward {

/// The same map as ForwardModel, for objects and images of T, float or double, on one GPU.
template <class T>
class DeviceModel {
  public:
    /// The current device is `device`. Throws as ForwardModel does; OutOfMemory if more than
    /// `limit` bytes of the GPU's memory are needed.
    DeviceModel(const ObjectGrid& object, const std::vector<View>& views,
                const ForwardModelOptions& options, int device, index_t limit);

    index_t device_bytes() const { return bytes_; }
    /// Returns the padded extents of the transforms, along each axis the largest of all views.
    Shape3 transforms() const;

    // Enqueue ForwardModel's record() and add_back(). All calls use one stream, since they share
    // workspaces; device_backend.cu orders calls from several.
    void record(std::size_t view, const T* object, T* image, DeviceStream stream) const;
    void add_back(std::size_t view, const T* image, T* object, DeviceStream stream) const;

  private:
    struct PlannedPsf {
        PsfPart part;
        gpu::DeviceMemory weights;  ///< along z, then y, then x of the part of the grid
        std::optional<DeviceConvolver> blur, back;
    };
    struct OneView {
        PlannedView planned;
        SamplingParameters parameters;
        gpu::DeviceMemory mask;
        std::vector<PlannedPsf> psfs;
    };

    void allocate(const std::vector<View>& views, index_t limit);
    void plan_convolutions(const std::vector<View>& views, const ForwardModelOptions& options,
                           index_t limit);
    void plan_convolutions(const std::vector<View>& views, const ForwardModelOptions& options,
                           index_t limit, bool keep_kernel_spectra);
    WeightedBox<T> part_of_grid(const OneView& view, const PlannedPsf& psf) const;
    gpu::DeviceMemory copy_of(const std::vector<T>& values, const char* purpose) const;

    int device_;
    Shape3 object_;
    std::vector<OneView> views_;
    // Workspaces: the object at the voxels of a view, a part of it for one of several PSFs, and the
    // image of this part, or the masked image.
    gpu::DeviceMemory grid_, weighted_, image_;
    index_t bytes_ = 0;
};

}  // namespace convolume::forward
