// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "deconvolve/executors/device_loops.cuh"
#include "deconvolve/problem.hpp"

// The arrays of a deconvolution in the memory of one GPU, and the loops over them.
namespace convolume::deconvolve {

class DeviceArrayMemory : public DeviceLoops {
  public:
    /// `device` is current.
    DeviceArrayMemory(int device, const DeconvolutionProblem& problem, int threads)
        : DeviceLoops(device, threads) {
        const auto add = [&](std::vector<gpu::DeviceMemory>& arrays, int count, index_t elements) {
            for (int i = 0; i < count; ++i)
                arrays.emplace_back(device,
                                    checked_multiply(elements, static_cast<index_t>(sizeof(float))),
                                    "the arrays of a deconvolution");
        };
        const ArrayCounts counts = array_counts(problem);
        add(objects_, counts.object, element_count(problem.object));
        add(images_, counts.image, problem.pixels());
    }

    float* object(int i) const { return objects_[static_cast<std::size_t>(i)].as<float>(); }
    float* image(int i) const { return images_[static_cast<std::size_t>(i)].as<float>(); }

  private:
    std::vector<gpu::DeviceMemory> objects_;
    std::vector<gpu::DeviceMemory> images_;
};

}  // namespace convolume::deconvolve
