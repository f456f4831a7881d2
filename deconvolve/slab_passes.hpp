// SPDX-License-Identifier: Apache-2.0
#pragma once
// A slab's share of a convolution and of its adjoint: passes over its planes and those of its
// neighbors that it needs (plane_parts.hpp), on one GPU.

#include <memory>
#include <utility>
#include <vector>

#include "deconvolve/executors/plane_passes.hpp"
#include "deconvolve/plane_parts.hpp"

namespace convolume::deconvolve {

class SlabPasses : public PlanePasses {
  public:
    SlabPasses(int device, const gpu::PairAxes& axes, const PlanePart& part,
               const std::vector<ConstImageView>& kernels, index_t limit_bytes,
               std::shared_ptr<gpu::Workspace> shared = nullptr)
        : PlanePasses(device, axes, part.slots(), kernels, limit_bytes, 1, std::move(shared)),
          z_(axes[0]),
          part_(part) {}

    const PlanePart& planes() const { return part_; }

    // Its own planes: of the object before blur(), of the image after it and before back(), of the
    // object after that.
    Slots object_slots() const {
        return {part_.object.begin - part_.seen.begin, part_.object.count()};
    }
    Slots image_slots() const {
        return {part_.image.begin - part_.light.begin, part_.image.count()};
    }
    Slots back_slots() const { return {0, part_.object.count()}; }

    /// Spectra of the object's planes become those of its image planes, of which there is one.
    void blur(cudaStream_t stream) const {
        const gpu::Range from = z_.seen_by(part_.image);
        along_z(z_.object_map(from, from.begin - part_.seen.begin, slots()),
                z_.image_map(part_.image, image_slots().first, slots()), false, stream);
    }
    /// Spectra of the image's planes become those of its object planes, by the adjoint.
    void back(cudaStream_t stream, std::size_t kernel = 0) const {
        const gpu::Range from = z_.lit_by(part_.object);
        along_z(z_.image_map(from, from.begin - part_.light.begin, slots()),
                z_.object_map(part_.object, 0, slots()), true, stream, kernel);
    }

  private:
    gpu::PairAxis z_;
    PlanePart part_;
};

}  // namespace convolume::deconvolve
