// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "deconvolve/executors/plane_geometry.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/volumes/plane_passes.hpp"

// A slab's share of a convolution and of its adjoint: passes over its planes and those of its
// neighbors that it needs (plane_parts.hpp), on one GPU.
namespace convolume::deconvolve {

class SlabPasses : public gpu::PlanePasses {
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

// What slabs on several GPUs fetch of one another: from GPU to GPU where these reach one another,
// else through the host. A slab has device(), stream(), passes() (SlabPasses) and the events
// `ready` and `fetched`.
namespace convolume::deconvolve {

/// The GPU of a slab, how much it may take there, and the workspace that it shares with others;
/// null: one of its own.
struct SlabPlace {
    int device = 0;
    index_t limit_bytes = 0;
    std::shared_ptr<gpu::Workspace> workspace = nullptr;
};

/// What slabs take of each GPU, of which one may hold several.
class GpuBytes {
  public:
    void add(int device, index_t bytes) { of_devices_[device] += bytes; }
    index_t most() const {
        index_t most = 0;
        for (const auto& [device, bytes] : of_devices_) most = std::max(most, bytes);
        return most;
    }

  private:
    std::map<int, index_t> of_devices_;
};

/// Calls work(slab) with each slab's device current.
template <class Slab, class Work>
void on_each(const std::vector<std::unique_ptr<Slab>>& slabs, const Work& work) {
    for (const auto& slab : slabs) {
        const gpu::DeviceScope scope(slab->device());
        work(*slab);
    }
}

inline std::vector<int> devices_of(const std::vector<SlabPlace>& places) {
    std::vector<int> devices;
    for (const SlabPlace& place : places) devices.push_back(place.device);
    return devices;
}

/// Copies between GPUs then take the shortest way. Where these do not reach one another, copies go
/// through the host all the same.
inline void let_reach(const std::vector<int>& devices) {
    static std::mutex mutex;
    static std::set<std::pair<int, int>> seen;  // asked once in a process
    const std::lock_guard lock(mutex);
    for (const int from : devices)
        for (const int to : devices) {
            if (from == to || !seen.insert({from, to}).second) continue;
            int possible = 0;
            gpu::check(cudaDeviceCanAccessPeer(&possible, from, to),
                       "asking whether GPUs reach another");
            if (possible == 0) continue;
            const gpu::DeviceScope scope(from);
            const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
            if (status == cudaErrorPeerAccessAlreadyEnabled)  // by the program around the library
                static_cast<void>(cudaGetLastError());
            else
                gpu::check(status, "letting GPUs reach another");
        }
}

/// All later work of any slab waits for all that was enqueued so far.
template <class Slab>
void join(const std::vector<std::unique_ptr<Slab>>& slabs) {
    if (slabs.size() == 1) return;
    on_each(slabs, [](Slab& slab) { slab.ready.record(slab.stream()); });
    on_each(slabs, [&](Slab& slab) {
        for (const auto& other : slabs)
            if (other.get() != &slab) other->ready.hold_back(slab.stream());
    });
}

/// The slots that `needed` takes in a slab's memory get what other slabs have of it.
template <class Slab>
void exchange(const std::vector<std::unique_ptr<Slab>>& slabs, gpu::Range PlanePart::*own,
              gpu::Range PlanePart::*needed) {
    if (slabs.size() == 1) return;
    on_each(slabs, [](Slab& slab) { slab.ready.record(slab.stream()); });
    on_each(slabs, [&](Slab& slab) {
        const SlabPasses& to = slab.passes();
        const gpu::Range mine = to.planes().*needed;
        for (const auto& other : slabs) {
            const SlabPasses& from = other->passes();
            const gpu::Range theirs = mine.within(from.planes().*own);
            if (other.get() == &slab || theirs.count() == 0) continue;
            other->ready.hold_back(slab.stream());
            gpu::check(
                cudaMemcpyPeerAsync(
                    to.slot(theirs.begin - mine.begin), slab.device(),
                    from.slot(theirs.begin - (from.planes().*needed).begin), other->device(),
                    static_cast<std::size_t>(theirs.count() * to.slot_bytes()), slab.stream()),
                "copying from GPU to GPU");
        }
        slab.fetched.record(slab.stream());
    });
    // Nobody overwrites what another still fetches.
    on_each(slabs, [&](Slab& slab) {
        for (const auto& other : slabs)
            if (other.get() != &slab) other->fetched.hold_back(slab.stream());
    });
}

}  // namespace convolume::deconvolve
