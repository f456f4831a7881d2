// SPDX-License-Identifier: Apache-2.0
#pragma once
// A GPU on its walk along z (plane_walk.hpp): planes of the arrays come from the host while others
// are worked on and others go back. What all methods have in common; an iteration is each one's
// own.

#include <array>
#include <memory>
#include <optional>

#include "deconvolve/plane_walk.hpp"
#include "deconvolve/steps.hpp"
#include "deconvolve/walk_arrays.hpp"
#include "deconvolve/walker_rings.cuh"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/volumes/plane_passes.hpp"

namespace convolume::deconvolve {

/// What a walk does.
struct WalkTask {
    enum class Kind {
        iteration,
        weights,         ///< an image of ones is projected back
        right_hand_side  ///< of wiener: the image is projected back, into the residual
    };
    Kind kind = Kind::iteration;
    std::vector<Origin> origins;  ///< of iterations together
    richardson_lucy::Model model{0, 0};
    float held_share = 0;
    bool compares_all = true;  ///< no pixel is left out
    int unmatched_steps = 0;   ///< with the other back projector
    float tv_weight = 0;       ///< of the total variation
    Variation variation;
    PhotonScale photons;        ///< of rlgc
    float noise_to_signal = 0;  ///< of wiener
};

/// Sums of an iteration: over comparisons; over updates; and one more, the total variation or how
/// many voxels consent. Of wiener, with p the product and r the residual: Σ direction · p and Σ p²;
/// Σ r · p and Σ r²; none.
using WalkSums = std::array<SumPair, 3>;

class Walker {
  public:
    struct Place {
        int device = 0;            ///< current
        gpu::Range object, image;  ///< planes that it updates, and whose misfit it counts
        index_t depth = 1;         ///< planes a step
        index_t together = 1;      ///< iterations, at most: above 1 of a single walker
        index_t limit_bytes = 0;
        std::vector<PlaneTile> tiles;  ///< that it walks through; none: whole planes
    };
    /// For the problem's method. `axes`: with a grid along z for the depth.
    static std::unique_ptr<Walker> make(const Place& place, const Problem& problem,
                                        const gpu::PairAxes& axes,
                                        const std::vector<ConstImageView>& kernels,
                                        WalkArrays& arrays);
    virtual ~Walker() = default;

    int device() const { return place_.device; }
    index_t tiles() const { return static_cast<index_t>(tiles_.size()); }
    /// Walks that follow, once it is finished with the last, go through this one.
    void choose_tile(index_t tile);
    index_t bytes() const { return rings_.bytes() + passes_->bytes(); }

    index_t steps(const WalkTask& task) const;
    /// Object planes that step k of an iteration loads.
    gpu::Range loads(index_t k) const { return walks_.front().step(k).load; }

    /// Copies planes that this walk reads and another's overwrites, for an iteration.
    void keep_borders(int threads);
    /// Enqueues step k; waits for one that is long enough ago.
    void enqueue(index_t k, const WalkTask& task);
    /// Waits for the walk's end. Of each iteration.
    std::vector<WalkSums> finish();
    /// Waits, whatever has happened.
    void drain() noexcept;

  protected:
    using Side = gpu::PlanePasses::Side;
    using Kind = gpu::RowStage::Kind;

    /// An iteration, or several, are a chain of up to so many walks. `axes`: of whole planes.
    Walker(const Place& place, const Problem& problem, const gpu::PairAxes& axes,
           const std::vector<ConstImageView>& kernels, WalkArrays& arrays, index_t chained);

    /// The walks of a task.
    virtual std::size_t chained(const WalkTask& task) const = 0;
    // Step k of an iteration.
    virtual void upload(index_t k, const WalkTask& task) = 0;
    virtual void work(index_t k, const WalkTask& task) = 0;
    virtual void download(index_t k, const WalkTask& task) = 0;

    void copy_in(const PlaneRing& ring, const PlaneArray& array, const gpu::Range& planes);
    void copy_out(const PlaneRing& ring, const PlaneArray& array, const gpu::Range& planes);
    void upload_image(const gpu::Range& planes, const WalkTask& task);
    void upload_weights(index_t k, const gpu::Range& planes);
    /// The newest estimates and those before become points, which are kept, and their spectra.
    void load_points(const gpu::Range& planes, const Origin& origin = {});
    /// Models of step.image, from what they see; the share of step.update in its light.
    void blur(const PlaneWalk& walk, const WalkStep& step, index_t ring = 0);
    void blur_back(const PlaneWalk& walk, const WalkStep& step, std::size_t kernel = 0,
                   index_t ring = 0);
    /// Samples become spectra as they are.
    void transform(Side side, const float* samples, const gpu::PlanePasses::Slots& slots);
    /// Calls work(planes, whether they are counted): planes that another walk counts, too, are
    /// compared for their ratios alone.
    template <class Work>
    void for_counted(const gpu::Range& image, const Work& work) const {
        for (const gpu::Range& part :
             {image.within({0, place_.image.begin}), image.within(place_.image),
              image.within({place_.image.end, image.end})})
            if (part.count() > 0)
                work(part, part.begin >= place_.image.begin && part.end <= place_.image.end);
    }
    /// Calls work(first plane, how many, whether their weights are alike) for runs of planes that
    /// lie one after another in all rings.
    template <class Work>
    void for_updates(const gpu::Range& planes, std::initializer_list<const PlaneRing*> rings,
                     const Work& work) const {
        const auto [first, last] = arrays_.alike;
        const PlaneRing none;
        const auto for_part = [&](const gpu::Range& part, bool alike) {
            for_runs(part, rings, [&](index_t z, index_t count) {
                for_runs({z, z + count}, {alike ? &none : &rings_.weights},
                         [&](index_t begin, index_t some) { work(begin, some, alike); });
            });
        };
        for_part(planes.within({0, first}), false);
        for_part(planes.within({first, last + 1}), true);
        for_part(planes.within({last + 1, planes.end}), false);
    }
    /// Blocks of a launch have written their sums to place_for_sums(), of one of WalkSums.
    SumPair* place_for_sums(std::size_t which, std::size_t iteration = 0) const {
        return sums_.as<SumPair>() + index_of(iteration, which) * most_blocks_ +
               blocks_[iteration][which];
    }
    void add_blocks(std::size_t which, index_t count, std::size_t iteration = 0) {
        blocks_[iteration][which] += count;
    }
    const PlaneWalk& walk(std::size_t i = 0) const { return walks_[i]; }
    const gpu::Range& own() const { return place_.object; }
    // Planes that are on the device, whole or of a tile.
    const PlaneTile& tile() const { return *tile_; }
    index_t object_plane() const { return tile_->samples().object; }
    index_t image_plane() const { return tile_->samples().image; }
    Pixels pixels(index_t z) const;
    PixelNumbers pixel_numbers(index_t z) const;
    Weights weights(index_t z, index_t count, bool alike) const;

    gpu::PairAxis z_;
    WalkArrays& arrays_;
    WalkerRings rings_;
    std::optional<gpu::PlanePasses> passes_;
    gpu::CudaStream uploads_, work_, downloads_;

  private:
    void upload_back(const WalkStep& step, const WalkTask& task);
    void work_back(const WalkStep& step, const WalkTask& task);
    void download_back(const WalkStep& step, const WalkTask& task);
    /// The sums of a step, whose blocks make room for those of the next.
    void add_up_sums(index_t k);
    static index_t index_of(std::size_t iteration, std::size_t which) {
        return static_cast<index_t>(iteration * std::tuple_size_v<WalkSums> + which);
    }
    const char* source(const PlaneArray& array, index_t z) const;
    // Of planes one after another in a ring and in an array: all that is on the device goes up,
    // what is updated comes down.
    void upload_planes(const PlaneRing& ring, char* to, const PlaneArray& array, const char* from,
                       index_t count) const;
    void download_planes(const PlaneRing& ring, const char* from, const PlaneArray& array, char* to,
                         index_t count) const;

    Place place_;
    gpu::PairAxes axes_;
    std::vector<PlaneTile> tiles_;
    const PlaneTile* tile_;
    std::vector<PlaneWalk> walks_;  ///< of an iteration
    PlaneWalk back_;                ///< projects an image back
    gpu::DeviceMemory sums_;        ///< of the blocks of a step, each iteration's
    gpu::DeviceMemory step_sums_;   ///< of each step: WalkSums of each iteration
    std::array<gpu::Event, 4> uploaded_, worked_, downloaded_;  ///< of a step, by its number
    PlaneArray borders_;
    gpu::Range lower_, upper_;                    ///< planes of the borders
    std::vector<std::array<index_t, 3>> blocks_;  ///< of the step, with sums, of each iteration
    index_t done_steps_ = 0;
    index_t most_blocks_ = 0;
};

}  // namespace convolume::deconvolve
