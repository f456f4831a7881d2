// SPDX-License-Identifier: Apache-2.0
// A convolution of slabs with halos, in the memory of several devices. Planes that others need are
// transformed along x and y first. Devices copy them while they transform the others. If that is
// not long enough, the frequencies along x are divided into chunks, and the last ones are copied
// during the pass along z of the first. CUDA events order these steps.

#include <algorithm>

#include "convolume/error.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/volumes/pass_transform.hpp"
#include "gpu/volumes/slab_program.hpp"

namespace convolume::gpu {

namespace {

/// Returns the spec of a slab's block, for its kernel.
DeviceProgramSpec spec_of(const DeviceProgramSpec& whole, const HaloSlab& slab, int device) {
    DeviceProgramSpec spec = whole;
    spec.device = device;
    spec.block = slab.block;
    spec.kernel_shift.z = 0;
    return spec;
}

/// Spectra and kernel of one device, which is the current one when they are made.
struct HaloPart {
    HaloSlab slab;
    int device;
    std::unique_ptr<PassTransform> transform;
    std::optional<RunTaps> run_taps;  ///< of kernels that come with each run
    DeviceMemory ring, batch, kernel;
    DeviceMemory taps;  ///< copy of such a kernel, for other devices or from the first one
    CudaStream copies;
    CudaEvent taps_copied, planes_made;  ///< planes_made: those that other slabs copy
    std::vector<CudaEvent> copied;       ///< for each chunk

    HaloPart(const DeviceProgramSpec& spec, const HaloSlab& of_slab, std::size_t chunks)
        : slab(of_slab),
          device(spec.device),
          transform(make_pass_transform(slab.block, slab.geometry)),
          ring(spec.device, slab.geometry.ring_bytes, "planes of spectra"),
          batch(spec.device, slab.geometry.batch_bytes),
          kernel(spec.device, slab.geometry.kernel_bytes, "a kernel"),
          copied(chunks) {
        ring.clear();
        kernel.clear();
        if (spec.run_kernel) run_taps.emplace(spec, spec.device);
    }

    BlockMemory memory() const { return {ring.data(), batch.data(), kernel.data()}; }
    ZWindow window() const { return slab.geometry.windows(slab.block.axes[0]).front(); }
    index_t bytes() const {
        return ring.bytes() + batch.bytes() + kernel.bytes() + taps.bytes() +
               (run_taps ? run_taps->bytes() : 0);
    }
};

class SlabsWithHalos : public SlabProgram {
  public:
    SlabsWithHalos(const DeviceProgramSpec& spec, const std::vector<ProgramSlab>& slabs,
                   const std::vector<HaloSlab>& halos, bool hides_copies)
        : SlabProgram(spec, slabs),
          chunks_(chunks_of(halos.front().geometry, tuning(), hides_copies)),
          kernel_bytes_(run_kernel_bytes(spec)) {
        if (tuning().reaches_peers) enable_peer_access(devices());
        for (std::size_t i = 0; i < parts(); ++i) {
            const DeviceScope scope(devices()[i]);
            const DeviceProgramSpec own = spec_of(spec, halos[i], devices()[i]);
            parts_.push_back(std::make_unique<HaloPart>(own, halos[i], chunks_));
            if (spec.run_kernel && copies_run_kernel(halos, devices(), i))
                parts_.back()->taps = DeviceMemory(devices()[i], kernel_bytes_, "a kernel");
            make_tables(*parts_.back(), own);
        }
    }
    ~SlabsWithHalos() override {
        // After an exception, a device may still copy from the memory of another.
        for (const auto& part : parts_) wait_for_device(part->device);
    }

  private:
    static std::size_t chunks_of(const BlockGeometry& geometry, const SpreadTuning& tuning,
                                 bool hides_copies) {
        const index_t chunks = tuning.halo_chunks.value_or(hides_copies ? 1 : 2);
        return static_cast<std::size_t>(
            std::clamp<index_t>(chunks, 1, geometry.pitch / tile_samples(geometry)));
    }

    index_t bytes_of_transforms(std::size_t i) const override { return parts_[i]->bytes(); }
    void join_own_streams(std::size_t i, cudaStream_t stream) const override {
        const HaloPart& part = *parts_[i];
        part.copied.back().record(part.copies);
        part.copied.back().make_wait(stream);
    }

    void enqueue(std::span<const SlabData> slabs, const void* kernel) const override {
        if (kernel != nullptr) enqueue_kernel(slabs, kernel);
        on_step(slabs);
        enqueue_forward(slabs);
        for (std::size_t chunk = 0; chunk < chunks_; ++chunk) enqueue_inverse(slabs, chunk);
        on_devices(slabs, [&](std::size_t i, const SlabData& data, cudaStream_t stream) {
            const HaloPart& part = *parts_[i];
            if (part.slab.has_results())
                part.transform->store_rows(0, target_of(i, data), part.memory(), stream);
        });
        on_step(slabs);
    }

    /// Copies the kernel of an execution to all devices, and transforms it. Others copy it from
    /// memory of the program: they may have no access to the caller's.
    void enqueue_kernel(std::span<const SlabData> slabs, const void* kernel) const {
        const HaloPart& first = *parts_[0];
        const auto bytes = static_cast<std::size_t>(kernel_bytes_);
        on_devices(slabs, [&](std::size_t i, const SlabData&, cudaStream_t stream) {
            const HaloPart& part = *parts_[i];
            if (i == 0) {
                if (part.taps.bytes() > 0)
                    check(
                        cudaMemcpyAsync(part.taps.data(), kernel, bytes, cudaMemcpyDefault, stream),
                        "copying a kernel");
                part.taps_copied.record(stream);
            }
            if (!part.slab.has_results()) return;
            const void* here = kernel;
            if (i > 0) first.taps_copied.make_wait(stream);
            if (i > 0 && part.taps.bytes() > 0) {
                here = part.taps.data();
                check(cudaMemcpyPeerAsync(part.taps.data(), part.device, first.taps.data(),
                                          first.device, bytes, stream),
                      "copying a kernel from GPU to GPU");
            }
            part.transform->prepare(part.run_taps->taps_of(here), part.memory(), stream);
        });
    }

    /// Enqueues the passes along x and y: first on all devices those of planes that are copied.
    void enqueue_forward(std::span<const SlabData> slabs) const {
        const auto load = [&](std::size_t i, const std::vector<LoadRun>& runs, const SlabData& data,
                              cudaStream_t stream) {
            for (const LoadRun& run : runs)
                parts_[i]->transform->load(images(i).source_at(data.input, run.plane, run.count),
                                           run.slot, parts_[i]->memory(), stream);
        };
        on_devices(slabs, [&](std::size_t i, const SlabData& data, cudaStream_t stream) {
            load(i, parts_[i]->slab.copied, data, stream);
            parts_[i]->planes_made.record(stream);
        });
        on_step(slabs);
        enqueue_copies();
        on_devices(slabs, [&](std::size_t i, const SlabData& data, cudaStream_t stream) {
            load(i, parts_[i]->slab.others, data, stream);
        });
        on_step(slabs);
    }

    /// Enqueues the copies of halos. Their slots are free: the devices that make the planes began
    /// after the last execution had ended on all.
    void enqueue_copies() const {
        for (const auto& part : parts_) {
            const DeviceScope scope(part->device);
            for (const HaloCopy& copy : part->slab.copies)
                parts_[copy.from]->planes_made.make_wait(part->copies);
            for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
                for (const HaloCopy& planes : part->slab.copies) copy(*part, planes, chunk);
                part->copied[chunk].record(part->copies);
            }
        }
    }

    void copy(const HaloPart& to, const HaloCopy& planes, std::size_t chunk) const {
        const HaloPart& from = *parts_[planes.from];
        const BlockGeometry& geometry = to.slab.geometry;
        const auto size = [](index_t bytes) { return static_cast<std::size_t>(bytes); };
        const IndexRange x = frequency_chunk(geometry, chunk, chunks_);
        char* const target =
            to.ring.data() + planes.slot * geometry.plane_bytes() + x.begin * geometry.sample_bytes;
        char* const source = from.ring.data() + planes.from_slot * geometry.plane_bytes() +
                             x.begin * geometry.sample_bytes;
        const char* const what = "copying planes from GPU to GPU";
        if (chunks_ == 1) {
            check(cudaMemcpyPeerAsync(target, to.device, source, from.device,
                                      size(planes.count * geometry.plane_bytes()), to.copies),
                  what);
            return;
        }
        const std::size_t pitch = size(geometry.pitch * geometry.sample_bytes),
                          rows = size(planes.count * geometry.rows);
        cudaMemcpy3DPeerParms copied{};
        copied.srcDevice = from.device;
        copied.srcPtr = {source, pitch, pitch, rows};
        copied.dstDevice = to.device;
        copied.dstPtr = {target, pitch, pitch, rows};
        copied.extent = {size(x.count() * geometry.sample_bytes), rows, 1};
        check(cudaMemcpy3DPeerAsync(&copied, to.copies), what);
    }

    /// Enqueues the pass along z of a chunk, and its inverse pass along y.
    void enqueue_inverse(std::span<const SlabData> slabs, std::size_t chunk) const {
        const IndexRange x = frequency_chunk(parts_.front()->slab.geometry, chunk, chunks_);
        on_devices(slabs, [&](std::size_t i, const SlabData&, cudaStream_t stream) {
            const HaloPart& part = *parts_[i];
            const BlockGeometry& geometry = part.slab.geometry;
            // Results overwrite planes, which others must have copied.
            for (const auto& other : parts_) other->copied[chunk].make_wait(stream);
            if (i == 0) on_step(slabs);
            if (!part.slab.has_results()) return;
            const ColumnBlock columns = chunks_ == 1
                                            ? ColumnBlock{0, geometry.plane, 1}
                                            : ColumnBlock{x.begin, x.count(), geometry.rows};
            part.transform->convolve_block(part.window(), {0, geometry.plane}, columns,
                                           part.memory(), stream, 1);
            if (i == 0) on_step(slabs);
            part.transform->transform_y(PassDirection::inverse, {0, part.slab.block.axes[0].kept},
                                        x, part.memory(), stream, 1);
            if (i == 0) on_step(slabs);
        });
    }

    /// Makes all tables of the passes, so that run() makes none, and transforms the kernel.
    static void make_tables(const HaloPart& part, const DeviceProgramSpec& spec) {
        const CudaStream stream;
        if (part.slab.makes_planes()) {
            RowSource one_sample;
            one_sample.pixels.data = part.ring.data();
            part.transform->load(one_sample, 0, part.memory(), stream);
            stream.wait();
        }
        if (!part.slab.has_results()) return;
        const FirstTaps first(spec, part.run_taps, spec.device);
        part.transform->prepare(first.taps(), part.memory(), stream);
        part.transform->convolve(part.window(), part.memory(), stream);  // of zeros
        stream.wait();
    }

    std::size_t chunks_;
    index_t kernel_bytes_;
    std::vector<std::unique_ptr<HaloPart>> parts_;
};

}  // namespace

index_t run_kernel_bytes(const DeviceProgramSpec& spec) {
    return spec.run_kernel ? bytes_of(spec.run_kernel->shape, spec.run_kernel->type) : 0;
}

bool copies_run_kernel(const std::vector<HaloSlab>& halos, const std::vector<int>& devices,
                       std::size_t i) {
    if (i > 0) return devices[i] != devices[0] && halos[i].has_results();
    for (std::size_t other = 1; other < halos.size(); ++other)
        if (copies_run_kernel(halos, devices, other)) return true;
    return false;
}

std::unique_ptr<SpreadProgram> make_halo_program(const DeviceProgramSpec& spec,
                                                 const std::vector<ProgramSlab>& slabs,
                                                 const std::vector<HaloSlab>& halos,
                                                 bool hides_copies) {
    return std::make_unique<SlabsWithHalos>(spec, slabs, halos, hides_copies);
}

}  // namespace convolume::gpu
