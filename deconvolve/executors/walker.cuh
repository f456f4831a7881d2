// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "deconvolve/executors/executor.hpp"
#include "deconvolve/executors/plane_geometry.hpp"
#include "deconvolve/executors/plane_passes.hpp"
#include "deconvolve/executors/walk_arrays.cuh"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/stream.hpp"

// Walkers: a GPU on its walk along z (plane_geometry.hpp). Planes of the arrays are uploaded from
// the host while others are computed and others are downloaded. Walker has what all methods share.
namespace convolume::deconvolve {

enum class WalkPurpose {
    iteration,
    weights,         ///< computes the weights: projects an image of ones back
    right_hand_side  ///< computes the residual of a linear system: projects the image back
};

/// The work of a walk.
struct WalkTask {
    WalkPurpose purpose = WalkPurpose::iteration;
    std::vector<StepStart> starts;  ///< starting points of consecutive iterations
    StepSettings settings;
    bool compares_all = true;  ///< whether no pixel is left out of comparisons
};

class Walker {
  public:
    struct Setup {
        int device = 0;  ///< the GPU, which is current
        /// Object planes that the walker updates, and image planes whose misfit it counts.
        IndexRange object, image;
        index_t depth = 1;  ///< planes that a step advances
        /// Largest number of fused iterations: above 1 only for a single walker.
        index_t iterations_a_walk = 1;
        index_t limit_bytes = 0;
        std::vector<PlaneTile> tiles;  ///< tiles that the walker goes through; none: whole planes
        ResidentArrays resident{};
    };
    /// Makes the walker for the problem's method. `axes` have a grid along z for the depth.
    static std::unique_ptr<Walker> make(const Setup& setup, const DeconvolutionProblem& problem,
                                        const PairAxes& axes, const PlaneKernels& kernels,
                                        WalkArrays& arrays);
    virtual ~Walker() = default;

    int device() const { return setup_.device; }
    index_t tiles() const { return static_cast<index_t>(tiles_.size()); }
    /// Lets later walks go through another tile. The last walk must have finished.
    void choose_tile(index_t tile);
    index_t bytes() const { return rings_.bytes() + passes_->bytes(); }
    /// Copies pixels of the type of the image's ring, from pixel `first` on, to the resident image.
    void write_data(const void* pixels, index_t first, index_t count);
    /// Copies the stored planes of the resident weights to `planes`.
    void read_weights(float* planes);

    index_t steps(const WalkTask& task) const;
    /// Returns the object planes that step k of an iteration loads.
    IndexRange loads(index_t k) const { return walks_.front().planes_at_step(k).load; }

    /// Copies planes that this walk reads and another walker's walk overwrites, before an
    /// iteration.
    void keep_borders(int threads);
    /// Enqueues step k, after waiting for a step some steps before.
    void enqueue(index_t k, const WalkTask& task);
    /// Waits for the walk's end, and returns the sums of each iteration.
    std::vector<StepSums> finish();
    /// Waits for all enqueued work, after errors, too.
    void drain() noexcept;

  protected:
    using PlaneKind = DevicePlanePasses::PlaneKind;

    /// Fused iterations or several projections are a chain of at most `chained` walks. `axes` are
    /// those of whole planes.
    Walker(const Setup& setup, const DeconvolutionProblem& problem, const PairAxes& axes,
           const PlaneKernels& kernels, WalkArrays& arrays, index_t chained);

    bool has_changes() const { return rings_.changes.slots > 0; }
    /// Returns the number of walks in the chain of a task.
    virtual std::size_t chained(const WalkTask& task) const = 0;
    // Enqueue the uploads, the computations and the downloads of step k of an iteration.
    virtual void upload(index_t k, const WalkTask& task) = 0;
    virtual void work(index_t k, const WalkTask& task) = 0;
    virtual void download(index_t k, const WalkTask& task) = 0;

    void copy_in(const PlaneRing& ring, const PlaneArray& array, const IndexRange& planes);
    void copy_out(const PlaneRing& ring, const PlaneArray& array, const IndexRange& planes);
    void upload_image(const IndexRange& planes, const WalkTask& task);
    void upload_weights(index_t k, const IndexRange& planes);
    /// Extrapolates points from the newest and the previous estimates, keeps them, and makes their
    /// spectra. Iteration `i` of those that are fused has the points of the ones before as
    /// estimates.
    void load_points(const IndexRange& planes, const StepStart& start, std::size_t i = 0);
    /// blur() computes the models of step.image; blur_back() projects their light back to
    /// step.update.
    void blur(const PlaneWalk& walk, const WalkStep& step, index_t ring = 0);
    void blur_back(const PlaneWalk& walk, const WalkStep& step, std::size_t kernel = 0,
                   index_t ring = 0);
    /// Makes the divisors of penalized steps over these planes.
    void find_divisors(const IndexRange& planes, const WalkTask& task);
    /// Calls work(planes, counted) for parts of the image planes. Planes that another walker counts
    /// are compared here for their ratios alone.
    template <class Work>
    void for_counted(const IndexRange& image, const Work& work) const {
        for (const IndexRange& part :
             {image.within({0, setup_.image.begin}), image.within(setup_.image),
              image.within({setup_.image.end, image.end})})
            if (part.count() > 0)
                work(part, part.begin >= setup_.image.begin && part.end <= setup_.image.end);
    }
    /// Calls work(first plane, count, are_equal) for runs of planes that lie one after another in
    /// all rings. `are_equal` says whether their weights are equal.
    template <class Rings = std::initializer_list<const PlaneRing*>, class Work>
    void for_updates(const IndexRange& planes, const Rings& rings, const Work& work) const {
        const auto [first, last] = arrays_.equal_planes;
        const PlaneRing none;
        const auto for_part = [&](const IndexRange& part, bool equal_planes) {
            for_runs(part, rings, [&](index_t z, index_t count) {
                for_runs({z, z + count}, {equal_planes ? &none : &rings_.weights},
                         [&](index_t begin, index_t some) { work(begin, some, equal_planes); });
            });
        };
        for_part(planes.within({0, first}), false);
        for_part(planes.within({first, last + 1}), true);
        for_part(planes.within({last + 1, planes.end}), false);
    }
    /// Returns the place for the sums of a launch's thread blocks, which are part of one pair of
    /// StepSums. add_blocks() then counts these thread blocks.
    SumPair* place_for_sums(std::size_t which, std::size_t iteration = 0) const {
        return sums_.as<SumPair>() + index_of(iteration, which) * most_blocks_ +
               blocks_[iteration][which];
    }
    void add_blocks(std::size_t which, index_t count, std::size_t iteration = 0) {
        blocks_[iteration][which] += count;
    }
    const PlaneWalk& walk(std::size_t i = 0) const { return walks_[i]; }
    const IndexRange& own() const { return setup_.object; }
    // Returns the tile that the walker goes through now, which may be whole planes.
    const PlaneTile& tile() const { return *tile_; }
    index_t object_plane() const { return tile_->samples().object; }
    index_t image_plane() const { return tile_->samples().image; }
    ImagePixels pixels(index_t z) const;
    PixelNumbers pixel_numbers(index_t z) const;
    Weights weights(index_t z, index_t count, bool equal_planes) const;

    PairAxis z_;
    WalkArrays& arrays_;
    WalkerRings rings_;
    std::optional<DevicePlanePasses> passes_;
    gpu::CudaStream uploads_, work_, downloads_;

  private:
    void upload_back(const WalkStep& step, const WalkTask& task);
    void work_back(const WalkStep& step, const WalkTask& task);
    void download_back(const WalkStep& step, const WalkTask& task);
    /// Adds up the sums of a step's thread blocks, whose places the next step uses again.
    void add_up_sums(index_t k);
    static index_t index_of(std::size_t iteration, std::size_t which) {
        return static_cast<index_t>(iteration * std::tuple_size_v<StepSums> + which);
    }
    const char* source(const PlaneArray& array, index_t z) const;
    // Copy consecutive planes between a ring and an array. Uploads copy the whole tile, downloads
    // only the tile's own samples.
    void upload_planes(const PlaneRing& ring, char* to, const PlaneArray& array, const char* from,
                       index_t count) const;
    void download_planes(const PlaneRing& ring, const char* from, const PlaneArray& array, char* to,
                         index_t count) const;

    Setup setup_;
    PairAxes axes_;
    std::vector<PlaneTile> tiles_;
    const PlaneTile* tile_;
    std::vector<PlaneWalk> walks_;  ///< the chain of walks of an iteration
    PlaneWalk back_;                ///< the walk that projects an image back
    gpu::DeviceMemory sums_;        ///< sums of a step's thread blocks, for each iteration
    gpu::DeviceMemory step_sums_;   ///< StepSums of each step, for each iteration
    /// Events of the last steps: those of step k are at index k mod 4.
    std::array<gpu::CudaEvent, 4> uploaded_, worked_, downloaded_;
    PlaneArray borders_;
    IndexRange lower_, upper_;  ///< planes that `borders_` holds
    /// Numbers of thread blocks with sums in this step, for each iteration.
    std::vector<std::array<index_t, 3>> blocks_;
    index_t done_steps_ = 0;
    index_t most_blocks_ = 0;
};

/// A walk with ratios and steps computed in passes along x, over whole planes and for methods that
/// allow it (MethodTraits::fits_passes). Iterations that do not depend on results of earlier ones
/// can be fused: they are a chain of walks, and arrays cross the bus once for all of them.
class FusedWalker final : public Walker {
  public:
    FusedWalker(const Setup& setup, const DeconvolutionProblem& problem, const PairAxes& axes,
                const PlaneKernels& kernels, WalkArrays& arrays)
        : Walker(setup, problem, axes, kernels, arrays, setup.iterations_a_walk),
          method_(problem.options.method) {}

  private:
    struct FusedWalkOperations;

    std::size_t chained(const WalkTask& task) const override { return task.starts.size(); }
    void upload(index_t k, const WalkTask& task) override;
    void work(index_t k, const WalkTask& task) override;
    void download(index_t k, const WalkTask& task) override;

    DeconvolveMethod method_;
};

/// A walk that carries out the operations of any method, over whole planes or tiles: functors run
/// between passes, on planes of samples. An iteration with two projections is a chain of two walks.
///
/// Tiles update more than their own samples, but only their own samples are counted and downloaded.
class OperationWalker final : public Walker {
  public:
    OperationWalker(const Setup& setup, const DeconvolutionProblem& problem, const PairAxes& axes,
                    const PlaneKernels& kernels, WalkArrays& arrays)
        : Walker(setup, problem, axes, kernels, arrays, problem.traits.projections),
          method_(problem.options.method),
          traits_(problem.traits) {}

  private:
    struct RingViews;
    struct WalkOperations;

    std::size_t chained(const WalkTask&) const override {
        return static_cast<std::size_t>(traits_.projections);
    }
    void upload(index_t k, const WalkTask& task) override;
    void work(index_t k, const WalkTask& task) override;
    void download(index_t k, const WalkTask& task) override;

    const PlaneRing& ring(ArrayRole role) const;

    DeconvolveMethod method_;
    MethodTraits traits_;
};

}  // namespace convolume::deconvolve
