// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loop's arrays in slabs on several GPUs, for methods that have no passes of their own
// (array_steps.hpp). Each array has one address; every GPU works on its planes of it, and reads
// those next to them where it needs them.

#include <memory>
#include <numeric>
#include <type_traits>
#include <vector>

#include "convolume/error.hpp"
#include "deconvolve/device_stages.cuh"
#include "deconvolve/plane_exchange.cuh"
#include "deconvolve/problem.hpp"
#include "gpu/runtime/device_memory.hpp"

namespace convolume::deconvolve {

class SlabArrays {
  public:
    static constexpr HostMemory staging = HostMemory::page_locked;

    /// `kernels`: the PSF and, where there is one, the taps of the unmatched back projector.
    /// `places`: one for each part.
    SlabArrays(const Problem& problem, const gpu::PairAxes& axes,
               const std::vector<PlanePart>& parts, const std::vector<ConstImageView>& kernels,
               const std::vector<SlabPlace>& places, int threads);

    /// Of the arrays of all GPUs; of all on the GPU that takes most.
    index_t array_bytes() const { return array_bytes_; }
    index_t most_bytes() const { return most_bytes_; }

    /// None for others to share: there are several.
    std::shared_ptr<DeviceWorkspace> workspace() const { return nullptr; }

    int threads() const { return threads_; }
    float* object(int i) const { return objects_[static_cast<std::size_t>(i)].as<float>(); }
    float* image(int i) const { return images_[static_cast<std::size_t>(i)].as<float>(); }

    void blur(const float* object, float* image);
    void blur_back(const float* image, float* object) { project(image, object, 0); }
    void back_project_unmatched(const float* image, float* object) { project(image, object, 1); }

    template <class Extent, class Stage>
    void for_each(const Extent& extent, const Stage& stage) const {
        on_each(slabs_, [&](Slab& slab) { slab.for_each(share(extent, slab), stage); });
        join(slabs_);
    }

    // Slabs are added up one after another.
    template <class Extent, class Stage>
    auto sum(const Extent& extent, const Stage& stage) const {
        using Sum = decltype(result_of(stage, extent));
        std::vector<unsigned> started;
        on_each(slabs_,
                [&](Slab& slab) { started.push_back(slab.start_sum(share(extent, slab), stage)); });
        join(slabs_);
        Sum total{};
        auto used = started.begin();
        on_each(slabs_, [&](Slab& slab) { total += slab.template finish_sum<Sum>(*used++); });
        return total;
    }

    void write(const float* values, float* array, index_t first, index_t count) const {
        const gpu::DeviceScope scope(slabs_.front()->device());
        slabs_.front()->write(values, array, first, count);
    }
    void read(float* values, const float* array, index_t first, index_t count) const {
        const gpu::DeviceScope scope(slabs_.front()->device());
        slabs_.front()->read(values, array, first, count);
    }

  private:
    class Slab : public DeviceStages {
      public:
        Slab(const SlabPlace& place, const gpu::PairAxes& axes, const PlanePart& part,
             const std::vector<ConstImageView>& kernels, int threads, index_t array_bytes)
            : DeviceStages(place.device, threads),
              device_(place.device),
              passes_(place.device, axes, part, kernels, place.limit_bytes - array_bytes,
                      place.workspace) {}

        int device() const { return device_; }
        using DeviceStages::stream;
        const SlabPasses& passes() const { return passes_; }

        gpu::Event ready, fetched;

      private:
        int device_;
        SlabPasses passes_;
    };

    // A slab's share of an array's elements, or of a grid's rows.
    IndexRange share(index_t count, const Slab& slab) const;
    GridRows share(const Grid& grid, const Slab& slab) const {
        const gpu::Range own = slab.passes().planes().object;
        return {grid, {own.begin * grid.extent[1], own.end * grid.extent[1]}};
    }
    void project(const float* image, float* object, std::size_t kernel);

    index_t object_plane_, image_plane_, voxels_, pixels_;
    int threads_;
    index_t array_bytes_ = 0, most_bytes_ = 0;
    std::vector<std::unique_ptr<Slab>> slabs_;
    std::vector<gpu::SpreadMemory> objects_, images_;
};

}  // namespace convolume::deconvolve
