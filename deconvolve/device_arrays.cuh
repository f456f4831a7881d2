// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loop's arrays in the memory of one GPU, around DeviceConvolver.

#include <vector>

#include "convolume/device.hpp"
#include "deconvolve/device_stages.cuh"
#include "deconvolve/problem.hpp"

namespace convolume::deconvolve {

class DeviceArrays : public DeviceStages {
  public:
    /// On `device`, which is current. The convolvers are kept by reference; `unmatched` may be
    /// null.
    DeviceArrays(int device, const Problem& problem, DeviceConvolver& blur, DeviceConvolver& back,
                 int threads, DeviceConvolver* unmatched)
        : DeviceStages(device, threads), blur_(blur), back_(back), unmatched_(unmatched) {
        const auto bytes = [](const Shape3& shape) {
            return checked_multiply(element_count(shape), static_cast<index_t>(sizeof(float)));
        };
        const ArrayCounts counts = array_counts(problem.options);
        for (int i = 0; i < counts.object; ++i)
            objects_.emplace_back(device, bytes(problem.object), "the arrays of a deconvolution");
        for (int i = 0; i < counts.image; ++i)
            images_.emplace_back(device, bytes(problem.image), "the arrays of a deconvolution");
    }

    float* object(int i) const { return objects_[static_cast<std::size_t>(i)].as<float>(); }
    float* image(int i) const { return images_[static_cast<std::size_t>(i)].as<float>(); }

    void blur(const float* object, float* image) { blur_.execute(object, image, stream()); }
    void blur_back(const float* image, float* object) { back_.execute(image, object, stream()); }
    void back_project_unmatched(const float* image, float* object) {
        unmatched_->execute(image, object, stream());
    }

  private:
    DeviceConvolver& blur_;
    DeviceConvolver& back_;
    DeviceConvolver* unmatched_;
    std::vector<gpu::DeviceMemory> objects_;
    std::vector<gpu::DeviceMemory> images_;
};

}  // namespace convolume::deconvolve
