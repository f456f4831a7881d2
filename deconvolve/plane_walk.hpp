// SPDX-License-Identifier: Apache-2.0
#pragma once
// One walk along z is a whole iteration: few planes of spectra at a time are on the GPU. A step
// loads points of object planes, compares the image planes that are now complete, and updates the
// object planes whose light is now complete, 2 (taps - 1) planes behind. Spectra lie in a ring of
// slots. What a convolution makes takes the place of what nothing needs any more: an image plane
// that of the first object plane it sees, an updated plane that of the first image plane it lights.
//
// What a walk updates may be what another one loads: walks in a chain, each with a ring of its own.

#include <vector>

#include "gpu/fft/pass_types.hpp"

namespace convolume::deconvolve {

/// Ranges of planes; any may be empty.
struct WalkStep {
    gpu::Range load;    ///< object planes
    gpu::Range image;   ///< image planes that are compared
    gpu::Range seen;    ///< object planes these see
    gpu::Range update;  ///< object planes
    gpu::Range light;   ///< image planes these light
};

class PlaneWalk {
  public:
    /// Updates the object planes `own`, `depth` planes a step. The axis has a grid of depth + taps
    /// - 1 samples or more.
    PlaneWalk(const gpu::PairAxis& axis, const gpu::Range& own, index_t depth)
        : PlaneWalk(axis, own, depth, loaded_for(axis, own).begin) {}

    /// So many, of which each updates what the next one loads in the same step, and the last one
    /// updates `own`.
    static std::vector<PlaneWalk> chain(const gpu::PairAxis& axis, const gpu::Range& own,
                                        index_t depth, index_t count) {
        std::vector<gpu::Range> updated{own};
        while (static_cast<index_t>(updated.size()) < count)
            updated.push_back(loaded_for(axis, updated.back()));
        std::vector<PlaneWalk> walks;
        index_t begin = loaded_for(axis, updated.back()).begin;
        for (auto of = updated.rbegin(); of != updated.rend(); ++of, begin -= axis.taps - 1)
            walks.push_back(PlaneWalk(axis, *of, depth, begin));
        return walks;
    }

    /// Samples of a transform for steps of `depth` planes.
    static index_t least_grid(const gpu::PairAxis& axis, index_t depth) {
        return depth + axis.taps - 1;
    }
    index_t ring() const { return ring(axis_, depth_); }
    static index_t ring(const gpu::PairAxis& axis, index_t depth) {
        return depth + 2 * (axis.taps - 1);
    }
    /// Planes from the first that waits for its update to the last that is loaded.
    index_t waiting() const { return depth_ + reach_; }

    index_t depth() const { return depth_; }
    const gpu::Range& own() const { return own_; }
    /// Object planes that are loaded, own or not.
    gpu::Range loaded() const { return loaded_for(axis_, own_); }
    index_t steps() const { return ceil_div(own_.end + reach_ - begin_, depth_); }

    WalkStep step(index_t k) const {
        const gpu::Range front{begin_ + k * depth_, begin_ + (k + 1) * depth_};
        WalkStep step;
        step.load = front.within(loaded());
        step.image = gpu::Range{front.begin - axis_.shift, front.end - axis_.shift}.within(
            axis_.lit_by(own_));
        step.seen = step.image.count() > 0 ? axis_.seen_by(step.image) : gpu::Range{};
        step.update = gpu::Range{front.begin - reach_, front.end - reach_}.within(own_);
        step.light = step.update.count() > 0 ? axis_.lit_by(step.update) : gpu::Range{};
        return step;
    }

    // Slots of planes.
    index_t of_object(index_t plane) const { return in_ring(plane); }
    index_t of_image(index_t plane) const { return in_ring(plane + axis_.shift - reach_); }
    index_t of_update(index_t plane) const { return in_ring(plane - reach_); }

  private:
    /// The first step loads from plane `begin` on; there may be none before some later plane.
    PlaneWalk(const gpu::PairAxis& axis, const gpu::Range& own, index_t depth, index_t begin)
        : axis_(axis), own_(own), depth_(depth), reach_(axis.taps - 1), begin_(begin) {}

    static gpu::Range loaded_for(const gpu::PairAxis& axis, const gpu::Range& own) {
        return gpu::Range{own.begin - (axis.taps - 1), own.end + axis.taps - 1}.within(
            axis.whole_object());
    }

    index_t in_ring(index_t slot) const { return (slot % ring() + ring()) % ring(); }

    gpu::PairAxis axis_;
    gpu::Range own_;
    index_t depth_;
    index_t reach_;
    index_t begin_;
};

}  // namespace convolume::deconvolve
