// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "convolume/error.hpp"
#include "deconvolve/executors/device_loops.cuh"
#include "deconvolve/executors/executor.hpp"
#include "deconvolve/executors/plane_geometry.hpp"
#include "deconvolve/executors/plane_passes.hpp"
#include "deconvolve/problem.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/peer_memory.hpp"
#include "gpu/runtime/stream.hpp"

// Slabs of planes on GPUs: passes over them, halo exchange between them, and deconvolutions in
// slabs.
namespace convolume::deconvolve {

class SlabPasses : public DevicePlanePasses {
  public:
    SlabPasses(int device, const PairAxes& axes, const SlabPlanes& slab_planes,
               const PlaneKernels& kernels, index_t limit_bytes,
               std::shared_ptr<gpu::Workspace> shared = nullptr)
        : DevicePlanePasses(device, axes, slab_planes.slots(), kernels, limit_bytes, 1,
                            std::move(shared)),
          z_(axes[0]),
          planes_(slab_planes) {}

    const SlabPlanes& planes() const { return planes_; }

    // Return the slots of the slab's own planes: object planes before blur(), image planes after
    // blur() and before back(), object planes after back().
    SlotRange object_slots() const {
        return {planes_.object.begin - planes_.seen.begin, planes_.object.count()};
    }
    SlotRange image_slots() const {
        return {planes_.image.begin - planes_.light.begin, planes_.image.count()};
    }
    SlotRange back_slots() const { return {0, planes_.object.count()}; }

    /// Computes the spectra of the slab's image planes, at least one, from those of object planes.
    void blur(cudaStream_t stream) const {
        const IndexRange from = z_.seen_by(planes_.image);
        along_z(z_.object_map(from, from.begin - planes_.seen.begin, slots()),
                z_.image_map(planes_.image, image_slots().first, slots()), false, from.begin,
                stream);
    }
    /// Computes the spectra of the slab's object planes from those of image planes, by the adjoint.
    void back(cudaStream_t stream, std::size_t kernel = 0) const {
        const IndexRange from = z_.lit_by(planes_.object);
        along_z(z_.image_map(from, from.begin - planes_.light.begin, slots()),
                z_.object_map(planes_.object, 0, slots()), true, planes_.object.begin, stream,
                kernel);
    }

  private:
    PairAxis z_;
    SlabPlanes planes_;
};

// Halo exchange between slabs: from GPU to GPU if these have access to each other, else through the
// host. A slab offers device(), stream(), passes() (SlabPasses), a stream for `copies`, and the
// events `ready` and `fetched`.

/// The GPU of a slab, the memory that it may take there, and the workspace that it shares; null: it
/// has a workspace of its own.
struct SlabSetup {
    int device = 0;
    index_t limit_bytes = 0;
    std::shared_ptr<gpu::Workspace> workspace = nullptr;
};

/// Adds up the bytes of slabs by GPU, since one GPU may hold several slabs.
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

/// Calls work(slab) for each slab, with its device current.
template <class Slab, class Work>
void on_each(const std::vector<std::unique_ptr<Slab>>& slabs, const Work& work) {
    for (const auto& slab : slabs) {
        const gpu::DeviceScope scope(slab->device());
        work(*slab);
    }
}

inline std::vector<int> devices_of(const std::vector<SlabSetup>& setups) {
    std::vector<int> devices;
    for (const SlabSetup& setup : setups) devices.push_back(setup.device);
    return devices;
}

/// Makes all later work of every slab wait for all work that was enqueued so far.
template <class Slab>
void wait_for_each_other(const std::vector<std::unique_ptr<Slab>>& slabs) {
    if (slabs.size() == 1) return;
    on_each(slabs, [](Slab& slab) { slab.ready.record(slab.stream()); });
    on_each(slabs, [&](Slab& slab) {
        for (const auto& other : slabs)
            if (other.get() != &slab) other->ready.make_wait(slab.stream());
    });
}

/// Planes of a slab, counted from its first own one, in the order in which their spectra are made:
/// those that other slabs fetch, then all others.
struct PlaneOrder {
    IndexRange low, high;  ///< planes that slabs with lower and with higher planes fetch
    IndexRange others;
};

/// The largest number of ranges of a PlaneOrder.
inline constexpr index_t plane_ranges = 3;

template <class Slab>
PlaneOrder plane_order(const std::vector<std::unique_ptr<Slab>>& slabs, const Slab& slab,
                       IndexRange SlabPlanes::*own, IndexRange SlabPlanes::*needed) {
    const IndexRange all = slab.passes().planes().*own;
    index_t low = all.begin, high = all.end;
    for (const auto& other : slabs) {
        const SlabPlanes& planes = other->passes().planes();
        const IndexRange fetched = (planes.*needed).within(all);
        if (other.get() == &slab || fetched.count() == 0) continue;
        if ((planes.*own).begin < all.begin)
            low = std::max(low, fetched.end);
        else
            high = std::min(high, fetched.begin);
    }
    if (low >= high) return {{0, all.count()}, {}, {}};
    return {
        {0, low - all.begin}, {high - all.begin, all.count()}, {low - all.begin, high - all.begin}};
}

/// Makes the spectra of each slab's own planes (`own`) by transform(slab, planes), and fills the
/// slots of all planes that the slab needs (`needed`) from the slabs that own them. These planes
/// are transformed first, so that GPUs copy them while they transform the others.
template <class Slab, class Transform>
void transform_and_exchange(const std::vector<std::unique_ptr<Slab>>& slabs,
                            IndexRange SlabPlanes::*own, IndexRange SlabPlanes::*needed,
                            const Transform& transform) {
    on_each(slabs, [&](Slab& slab) {
        const PlaneOrder order = plane_order(slabs, slab, own, needed);
        const auto transform_some = [&](const IndexRange& planes) {
            if (planes.count() > 0) transform(slab, planes);
        };
        transform_some(order.low);
        transform_some(order.high);
        if (slabs.size() > 1) slab.ready.record(slab.stream());
        transform_some(order.others);
    });
    if (slabs.size() == 1) return;
    on_each(slabs, [&](Slab& slab) {
        const SlabPasses& to = slab.passes();
        const IndexRange needed_planes = to.planes().*needed;
        slab.ready.make_wait(slab.copies);  // earlier passes still read the slots
        for (const auto& other : slabs) {
            const SlabPasses& from = other->passes();
            const IndexRange fetched_planes = needed_planes.within(from.planes().*own);
            if (other.get() == &slab || fetched_planes.count() == 0) continue;
            other->ready.make_wait(slab.copies);
            gpu::check(cudaMemcpyPeerAsync(
                           to.slot(fetched_planes.begin - needed_planes.begin), slab.device(),
                           from.slot(fetched_planes.begin - (from.planes().*needed).begin),
                           other->device(),
                           static_cast<std::size_t>(fetched_planes.count() * to.slot_bytes()),
                           slab.copies),
                       "copying from GPU to GPU");
        }
        slab.fetched.record(slab.copies);
    });
    // A slab must have its planes, and must not overwrite planes that another one still fetches.
    on_each(slabs, [&](Slab& slab) {
        for (const auto& other : slabs) other->fetched.make_wait(slab.stream());
    });
}

/// The arrays of a deconvolution in slabs on several GPUs, for methods without fused passes
/// (array_executor.hpp). Each array has one address. Every GPU works on its own planes, and reads
/// neighboring planes from other GPUs.
class SlabArrays {
  public:
    static constexpr HostMemory staging = HostMemory::page_locked;

    /// `kernels`: the PSF and, if the method has one, the unmatched back projector's taps.
    /// `setups`: one for each slab.
    SlabArrays(const DeconvolutionProblem& problem, const PairAxes& axes,
               const std::vector<SlabPlanes>& slab_planes, const PlaneKernels& kernels,
               const std::vector<SlabSetup>& setups, int threads);

    /// Return the bytes of the arrays on all GPUs, and of all memory on the GPU that holds most.
    index_t array_bytes() const { return array_bytes_; }
    index_t most_bytes() const { return most_bytes_; }

    /// Returns null: there are several workspaces, which are not shared.
    std::shared_ptr<DeviceWorkspace> workspace() const { return nullptr; }

    int threads() const { return threads_; }
    float* object(int i) const { return objects_[static_cast<std::size_t>(i)].as<float>(); }
    float* image(int i) const { return images_[static_cast<std::size_t>(i)].as<float>(); }

    void blur(const float* object, float* image);
    void blur_back(const float* image, float* object) { project(image, object, 0); }
    void back_project_unmatched(const float* image, float* object) { project(image, object, 1); }

    template <class Extent, class Functor>
    void for_each(const Extent& extent, const Functor& functor) const {
        on_each(slabs_, [&](ArraySlab& slab) { slab.for_each(share(extent, slab), functor); });
        wait_for_each_other(slabs_);
    }

    // Adds up the sums of slabs in their order.
    template <class Extent, class Functor>
    auto sum(const Extent& extent, const Functor& functor) const {
        using Sum = decltype(result_of(functor, extent));
        std::vector<unsigned> started;
        on_each(slabs_, [&](ArraySlab& slab) {
            started.push_back(slab.start_sum(share(extent, slab), functor));
        });
        wait_for_each_other(slabs_);
        Sum total{};
        auto used = started.begin();
        on_each(slabs_, [&](ArraySlab& slab) { total += slab.template finish_sum<Sum>(*used++); });
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
    class ArraySlab : public DeviceLoops {
      public:
        ArraySlab(const SlabSetup& setup, const PairAxes& axes, const SlabPlanes& slab_planes,
                  const PlaneKernels& kernels, int threads, index_t array_bytes)
            : DeviceLoops(setup.device, threads),
              device_(setup.device),
              passes_(setup.device, axes, slab_planes, kernels, setup.limit_bytes - array_bytes,
                      setup.workspace) {}

        int device() const { return device_; }
        using DeviceLoops::stream;
        const SlabPasses& passes() const { return passes_; }

        gpu::CudaStream copies;
        gpu::CudaEvent ready, fetched;

      private:
        int device_;
        SlabPasses passes_;
    };

    // Returns a slab's share of an array's elements, or of a voxel grid's rows.
    IndexRange share(index_t count, const ArraySlab& slab) const;
    VoxelRows share(const VoxelGrid& grid, const ArraySlab& slab) const {
        const IndexRange own = slab.passes().planes().object;
        return {grid, {own.begin * grid.extent[1], own.end * grid.extent[1]}};
    }
    void project(const float* image, float* object, std::size_t kernel);

    index_t object_plane_, image_plane_, voxels_, pixels_;
    int threads_;
    index_t array_bytes_ = 0, most_bytes_ = 0;
    std::vector<std::unique_ptr<ArraySlab>> slabs_;
    std::vector<gpu::SpreadMemory> objects_, images_;
};

/// Iterations as passes, in slabs of planes on one GPU or several. Before each of its two
/// convolutions, a slab fetches the spectra that it needs from its neighbors.
class SlabExecutor final : public Executor {
  public:
    /// `setups`: one for each slab.
    SlabExecutor(const DeconvolutionProblem& problem, const PairAxes& axes,
                 const std::vector<SlabPlanes>& slab_planes, const PlaneKernels& kernels,
                 const std::vector<SlabSetup>& setups, int threads);
    ~SlabExecutor() override;

    /// Returns the workspace of a single slab, which other objects may share; null if there are
    /// several slabs.
    std::shared_ptr<DeviceWorkspace> workspace() const;

    /// Return the bytes of the arrays on all GPUs, and of all memory on the GPU that holds most.
    index_t array_bytes() const;
    index_t most_bytes() const;

    HostMemory staging() const override { return DeviceLoops::staging; }
    int threads() const override { return threads_; }
    void write_image(const float* values, index_t first, index_t count) override;
    void write_estimate(const float* values, index_t first, index_t count) override;
    void read_estimate(float* values, index_t first, index_t count) const override;
    void hold_out(const PhotonScale& photons, int halvings) override;
    void put_back() override;
    void begin(const LoadedImage& image, float held_out_share) override;
    StepResult iterate(const StepStart& start, const IterationProgress& progress) override;

  private:
    template <class Work>
    void with_workspace(const Work& work);

    class PassSlab;
    /// The operations of one iteration (method.hpp).
    struct SlabOperations;

    DeconvolveMethod method_;
    std::vector<std::unique_ptr<PassSlab>> slabs_;
    StepSettings step_settings_;
    bool has_weights_ = false;
    bool compares_all_;  ///< whether no pixel is left out of comparisons
    int threads_;
};

}  // namespace convolume::deconvolve
