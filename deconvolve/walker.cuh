// SPDX-License-Identifier: Apache-2.0
#pragma once
// A GPU on its walk along z (plane_walk.hpp): planes of the arrays come from the host while others
// are worked on and others go back.

#include <array>
#include <optional>

#include "deconvolve/plane_walk.hpp"
#include "deconvolve/steps.hpp"
#include "deconvolve/walk_arrays.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/volumes/plane_passes.hpp"

namespace convolume::deconvolve {

/// Planes of an array on the device: plane z is in place z mod `places`.
struct PlaneRing {
    index_t places = 0;  ///< 0: there is no such array
    index_t plane_bytes = 1;
    gpu::DeviceMemory memory;

    index_t bytes() const { return checked_multiply(places, plane_bytes); }
    void allocate(int device) {
        memory = gpu::DeviceMemory(device, bytes(), "the arrays of a deconvolution");
    }
    char* bytes_of(index_t z) const { return memory.data() + z % places * plane_bytes; }
    float* at(index_t z) const { return reinterpret_cast<float*>(bytes_of(z)); }
};

/// What is on the device for a walk with steps of so many planes.
struct WalkerRings {
    /// Of an image that is kept as uint16 if it is `narrow`.
    WalkerRings(const Problem& problem, const gpu::PairAxis& z, index_t depth, bool narrow = false);
    index_t bytes() const;

    /// Estimates that points are made from; points that wait for their update; the last changes, a
    /// step's and, packed, all that are there; image planes; weights, and the plane of those that
    /// are alike.
    PlaneRing newest, before, points, changes, packed_changes, data, held, weights, alike;
    /// Of a total variation: a step's divisors; its points between those of the planes beside it.
    PlaneRing divisors, neighborhood;

    std::array<PlaneRing*, 11> all() {
        return {&newest, &before,  &points, &changes,  &packed_changes, &data,
                &held,   &weights, &alike,  &divisors, &neighborhood};
    }
    std::array<const PlaneRing*, 11> all() const {
        return {&newest, &before,  &points, &changes,  &packed_changes, &data,
                &held,   &weights, &alike,  &divisors, &neighborhood};
    }
};

/// What an iteration does.
struct WalkTask {
    enum class Kind {
        iteration,
        weights,  ///< an image of ones is projected back
    };
    Kind kind = Kind::iteration;
    Origin origin;
    richardson_lucy::Model model{0, 0};
    float held_share = 0;
    bool compares_all = true;  ///< no pixel is left out
    bool unmatched = false;    ///< a step with the other back projector
    float tv_weight = 0;       ///< of the total variation
    Variation variation;
};

/// Sums of a walk: over comparisons, over updates, and the total variation.
using WalkSums = std::array<SumPair, 3>;

class Walker {
  public:
    struct Place {
        int device = 0;            ///< current
        gpu::Range object, image;  ///< planes that it updates, and whose misfit it counts
        index_t depth = 1;         ///< planes a step
        index_t limit_bytes = 0;
    };
    /// `axes`: with a grid along z for the depth.
    Walker(const Place& place, const Problem& problem, const gpu::PairAxes& axes,
           const std::vector<ConstImageView>& kernels, WalkArrays& arrays);

    int device() const { return place_.device; }
    index_t steps() const { return walk_.steps(); }
    index_t bytes() const { return rings_.bytes() + passes_->bytes(); }

    /// Copies planes that this walk reads and another's overwrites, for an iteration.
    void keep_borders(int threads);
    /// Enqueues step k; waits for one that is long enough ago.
    void enqueue(index_t k, const WalkTask& task);
    /// Waits for the walk's end.
    WalkSums finish();
    /// Waits, whatever has happened.
    void drain() noexcept;

  private:
    using Side = gpu::PlanePasses::Side;
    using Kind = gpu::RowStage::Kind;

    void upload(index_t k, const WalkStep& step, const WalkTask& task);
    void load_points(const WalkStep& step, const Origin& origin);
    void compare(const WalkStep& step, const WalkTask& task);
    void update(const WalkStep& step, const WalkTask& task);
    /// Calls work(how many rows, their changes, these packed) for runs of planes.
    template <class Work>
    void for_changes(const gpu::Range& planes, const Work& work) const;
    void find_divisors(const gpu::Range& planes, const WalkTask& task);
    /// Calls work(first plane, how many, whether their weights are alike) for runs of planes that
    /// lie one after another in all rings that a step uses.
    template <class Work>
    void for_updates(const gpu::Range& planes, const Work& work);
    void download(const WalkStep& step, const WalkTask& task);
    void copy_in(const PlaneRing& ring, const PlaneArray& array, const gpu::Range& planes);
    void copy_out(const PlaneRing& ring, const PlaneArray& array, const gpu::Range& planes);
    const char* source(const PlaneArray& array, index_t z) const;
    SumPair* place_for_sums(std::size_t which) const;

    Place place_;
    PlaneWalk walk_;
    gpu::PairAxis z_;
    WalkArrays& arrays_;
    WalkerRings rings_;
    std::optional<gpu::PlanePasses> passes_;
    gpu::DeviceMemory sums_;
    gpu::Stream uploads_, work_, downloads_;
    std::array<gpu::Event, 4> uploaded_, worked_, downloaded_;  ///< of a step, by its number
    PlaneArray borders_;
    gpu::Range lower_, upper_;         ///< planes of the borders
    std::array<index_t, 3> blocks_{};  ///< with sums so far, of each kind
    index_t most_blocks_ = 0;
};

}  // namespace convolume::deconvolve
