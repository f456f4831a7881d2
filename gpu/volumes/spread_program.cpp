// SPDX-License-Identifier: Apache-2.0
// A convolution of data in the memory of several devices. Planes of spectra are in one range of
// addresses, spread over the devices. Every device transforms the planes of its own slabs along x
// and y, and a share of the columns along z, for which it reads and writes the planes of all
// devices. No copy of the volume is transposed. CUDA events order these steps. Frequencies along x
// are divided into chunks: the pass along z of one runs beside passes along y of others, because it
// waits for the link between devices.

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "convolume/error.hpp"
#include "gpu/backend.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/peer_memory.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/volumes/block_geometry.hpp"
#include "gpu/volumes/pass_transform.hpp"
#include "gpu/volumes/program_images.hpp"
#include "gpu/volumes/spread_tuning.hpp"

namespace convolume::gpu {

namespace {

/// Points of an execution at which all devices wait for all.
enum class Meeting { start, taps_loaded, kernel_ready, stored, end, count };

/// Returns part `index` of `count` items that are divided evenly.
IndexRange even_part(index_t count, std::size_t index, std::size_t parts) {
    const auto begin = [&](std::size_t part) {
        return count * static_cast<index_t>(part) / static_cast<index_t>(parts);
    };
    return {begin(index), begin(index + 1)};
}

/// The slots, columns and memory of one device.
struct DevicePart {
    ProgramSlab slab;
    IndexRange slots;                ///< slots of the ring in this device's memory
    std::vector<IndexRange> loaded;  ///< slots that this device loads
    IndexRange stored;  ///< slots that this device stores, of the result before it is folded
    ColumnShare columns;
    std::vector<ColumnBlock> blocks;  ///< columns of each chunk
    CudaStream z_stream{StreamPriority::highest};
    std::vector<CudaEvent> y_done, z_done;  ///< for each chunk
    ProgramImages images;
    std::optional<ResultFold> fold;
    DeviceMemory kernel, batch;
    std::array<CudaEvent, static_cast<std::size_t>(Meeting::count)> events;
    StreamOrder order;

    /// Its device is the current one.
    DevicePart(const DeviceProgramSpec& spec, const ProgramSlab& of_slab)
        : slab(of_slab), images(spec, of_slab.device) {
        if (!spec.fold_sources[0].empty()) fold.emplace(spec, of_slab.device);
    }
};

class PassesOnDevices : public SpreadProgram {
  public:
    PassesOnDevices(const DeviceProgramSpec& spec, const std::vector<ProgramSlab>& slabs)
        : tuning_(spread_tuning()),
          geometry_(choose_geometry(spec, slabs)),
          chunks_(chunks_of(geometry_, slabs.size(), tuning_)),
          window_(geometry_.windows(spec.block.axes[0]).front()),
          loaded_slots_(spec.block.axes[0].loaded),
          transform_(make_pass_transform(spec.block, geometry_)) {
        std::vector<PeerMemory::Part> ring, extended;
        const index_t kept = spec.block.axes[0].kept;
        plane_bytes_of_extended_ = ResultFold::extended_bytes(spec) / std::max<index_t>(kept, 1);
        for (std::size_t i = 0; i < slabs.size(); ++i) {
            const DeviceScope scope(slabs[i].device);
            parts_.push_back(std::make_unique<DevicePart>(spec, slabs[i]));
            DevicePart& part = *parts_.back();
            part.slots = even_part(geometry_.ring, i, slabs.size());
            part.loaded = part.images.loaded_slots(part.slab.input, zeros_of(part));
            part.stored = part.fold ? even_part(kept, i, slabs.size()) : part.slab.output;
            divide_columns(part, i, slabs.size());
            part.kernel = DeviceMemory(part.slab.device, kernel_bytes(geometry_, part.columns));
            part.kernel.clear();
            part.batch = DeviceMemory(part.slab.device, geometry_.batch_bytes);
            ring.push_back({part.slab.device, part.slots.count() * geometry_.plane_bytes()});
            extended.push_back({part.slab.device, part.stored.count() * plane_bytes_of_extended_});
        }
        ring_ = PeerMemory(ring, "planes of spectra");
        if (has_fold()) extended_ = PeerMemory(extended, "a result before it is folded");
        prepare(spec);
    }

    void run(std::span<const SlabData> slabs, const void* kernel) override {
        in_order(slabs, 0, [&] {
            // After an exception, devices may still run what was enqueued before it.
            if (std::exchange(is_interrupted_, true)) {
                on_devices(slabs, [](const DevicePart& part, const SlabData&, cudaStream_t stream) {
                    part.z_done[0].record(part.z_stream);
                    part.z_done[0].make_wait(stream);
                });
                meet(Meeting::start, slabs);
            }
            enqueue(slabs, kernel);
            is_interrupted_ = false;
        });
    }

    index_t bytes(std::size_t slab) const override {
        const DevicePart& part = *parts_[slab];
        return ring_.bytes_of_part(slab) + (has_fold() ? extended_.bytes_of_part(slab) : 0) +
               part.kernel.bytes() + part.batch.bytes() + part.images.bytes() +
               (part.fold ? part.fold->bytes() : 0) +
               (slab == 0 && run_taps_ ? run_taps_->bytes() : 0);
    }
    bool keeps_spectrum() const override { return geometry_.keeps_spectrum; }

  private:
    static index_t kernel_bytes(const BlockGeometry& geometry, const ColumnShare& share) {
        return checked_multiply(
            geometry.keeps_spectrum ? geometry.z_length : geometry.kernel_planes,
            share.count * geometry.sample_bytes);
    }

    static BlockGeometry choose_geometry(const DeviceProgramSpec& spec,
                                         const std::vector<ProgramSlab>& slabs) {
        std::vector<int> devices;
        for (const ProgramSlab& slab : slabs) {
            require_device(slab.device);
            devices.push_back(slab.device);
        }
        if (const std::string why = why_no_peer_memory(devices); !why.empty())
            throw GpuUnavailable(why);
        index_t least_limit = 0;
        for (const bool keep : {true, false}) {
            if (keep && !spec.keep_spectrum) continue;
            BlockGeometry geometry;
            bool fits = true;
            for (std::size_t i = 0; i < slabs.size(); ++i) {
                const int device = devices[i];
                DeviceRates rates;
                rates.device = device;
                geometry = block_geometry(spec.block, {0, 0}, 0, rates, keep);
                if (geometry.uses_cufft)
                    throw GpuUnavailable(
                        message("a grid of ", to_string(spec.block.grid()),
                                " has a length without passes of our own, and cuFFT computes on "
                                "one GPU: use one GPU, or lengths of up to 4096 samples along z "
                                "and y and 8192 along x (half as many in double precision)"));
                geometry.kernel_shift = spec.kernel_shift.z;
                divide(geometry, slabs.size());
                const index_t limit = spec.memory_limit_bytes > 0 ? spec.memory_limit_bytes
                                                                  : usable_device_bytes(device);
                const index_t here = limit / occurrences_of(devices, device);
                least_limit = least_limit == 0 ? here : std::min(least_limit, here);
                fits = fits && bytes_of_part(spec, geometry, i, slabs.size()) <= here;
            }
            if (fits) return geometry;
        }
        throw OutOfMemory(
            message("this convolution does not fit ", format_bytes(least_limit),
                    " of memory on each of ", slabs.size(), " GPUs: free some, or take more GPUs"),
            MemoryKind::gpu);
    }

    /// Returns the chunks of the frequencies along x: fewer if they would be small, and one if a
    /// device has no row of its own.
    static std::size_t chunks_of(const BlockGeometry& geometry, std::size_t parts,
                                 const SpreadTuning& tuning) {
        if (geometry.rows < static_cast<index_t>(parts)) return 1;
        const index_t bytes = geometry.ring_bytes / static_cast<index_t>(parts);
        const index_t most = std::min(geometry.pitch / tile_samples(geometry),
                                      bytes / std::max<index_t>(tuning.least_chunk_bytes, 1));
        return static_cast<std::size_t>(
            std::clamp<index_t>(tuning.chunks, 1, std::max<index_t>(most, 1)));
    }

    /// Returns the frequencies along x of a chunk.
    IndexRange along_x(std::size_t chunk) const {
        const index_t tile = tile_samples(geometry_);
        const IndexRange tiles = even_part(geometry_.pitch / tile, chunk, chunks_);
        return {tiles.begin * tile, tiles.end * tile};
    }

    void divide_columns(DevicePart& part, std::size_t index, std::size_t parts) const {
        part.columns = column_share(geometry_, index, parts, chunks_ > 1);
        for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
            part.y_done.emplace_back();
            part.z_done.emplace_back();
            const IndexRange x = along_x(chunk);
            if (chunks_ == 1)
                part.blocks.push_back({part.columns.begin, part.columns.count, 1});
            else
                part.blocks.push_back({part.columns.begin + x.begin, x.count(),
                                       part.columns.count / geometry_.pitch});
        }
    }

    /// Adapts the layout of one device to several.
    static void divide(BlockGeometry& geometry, std::size_t parts) {
        // Planes of the kernel are transformed in the ring, too.
        geometry.ring = std::max(geometry.ring, geometry.kernel_planes);
        geometry.ring_bytes = checked_multiply(geometry.ring, geometry.plane_bytes());
        if (geometry.batch_bytes == 0) return;
        const index_t tile = tile_samples(geometry);
        const index_t tiles = geometry.batch_columns / tile / static_cast<index_t>(parts);
        geometry.batch_columns = std::max<index_t>(tiles, 1) * tile;
        geometry.batch_bytes = geometry.batch_columns * geometry.z_length * geometry.sample_bytes;
    }

    static index_t bytes_of_part(const DeviceProgramSpec& spec, const BlockGeometry& geometry,
                                 std::size_t part, std::size_t parts) {
        const index_t ring = even_part(geometry.ring, part, parts).count() * geometry.plane_bytes();
        const index_t extended = spec.fold_sources[0].empty() ? 0
                                                              : ResultFold::extended_bytes(spec) /
                                                                    static_cast<index_t>(parts);
        return checked_add(
            checked_add(ring, geometry.batch_bytes),
            checked_add(extended, kernel_bytes(geometry, column_share(geometry, part, parts))));
    }

    bool has_fold() const { return parts_.front()->fold.has_value(); }
    /// Returns the slots that this device clears if no plane of the image belongs there.
    IndexRange zeros_of(const DevicePart& part) const {
        return part.slots.within({0, loaded_slots_});
    }
    BlockMemory memory_of(const DevicePart& part) const {
        return {ring_.data(), part.batch.data(), part.kernel.data()};
    }

    /// Calls work(part, slab, stream) for every device, which is then the current one.
    template <class Work>
    void on_devices(std::span<const SlabData> slabs, const Work& work) const {
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            const DeviceScope scope(parts_[i]->slab.device);
            work(*parts_[i], slabs[i], static_cast<cudaStream_t>(slabs[i].stream));
        }
    }

    /// Makes later work on all CUDA streams wait for the present work on all.
    void meet(Meeting meeting, std::span<const SlabData> slabs) const {
        const auto event = static_cast<std::size_t>(meeting);
        on_devices(slabs, [&](const DevicePart& part, const SlabData&, cudaStream_t stream) {
            part.events[event].record(stream);
        });
        on_devices(slabs, [&](const DevicePart& part, const SlabData&, cudaStream_t stream) {
            for (const auto& other : parts_)
                if (other.get() != &part) other->events[event].make_wait(stream);
        });
    }

    /// Calls work() after the last use of all parts from `first` on.
    template <class Work>
    void in_order(std::span<const SlabData> slabs, std::size_t first, const Work& work) {
        if (first == parts_.size()) {
            work();
            return;
        }
        DevicePart& part = *parts_[first];
        const DeviceScope scope(part.slab.device);
        part.order.run(static_cast<cudaStream_t>(slabs[first].stream),
                       [&] { in_order(slabs, first + 1, work); });
    }

    /// Enqueues the transform of a kernel's taps, which are on the first device.
    void enqueue_kernel(std::span<const SlabData> slabs, const DeviceTaps& taps) const {
        {
            const DeviceScope scope(parts_[0]->slab.device);
            transform_->load_taps(taps, memory_of(*parts_[0]),
                                  static_cast<cudaStream_t>(slabs[0].stream));
        }
        meet(Meeting::taps_loaded, slabs);
        on_devices(slabs, [&](const DevicePart& part, const SlabData&, cudaStream_t stream) {
            transform_->prepare_share(part.columns, memory_of(part), stream);
        });
        meet(Meeting::kernel_ready, slabs);
    }

    void enqueue(std::span<const SlabData> slabs, const void* kernel) const {
        if (run_taps_) enqueue_kernel(slabs, run_taps_->taps_of(kernel));
        on_step(slabs);
        enqueue_forward(slabs);
        enqueue_z(slabs);
        enqueue_inverse(slabs);
        if (has_fold()) {
            meet(Meeting::stored, slabs);
            on_devices(slabs,
                       [&](const DevicePart& part, const SlabData& data, cudaStream_t stream) {
                           part.fold->fold(extended_.data(), data.output, part.slab.output, stream);
                       });
        }
        meet(Meeting::end, slabs);
        on_step(slabs);
    }

    /// Enqueues the passes along x, and along y chunk by chunk.
    void enqueue_forward(std::span<const SlabData> slabs) const {
        on_devices(slabs, [&](const DevicePart& part, const SlabData& data, cudaStream_t stream) {
            const BlockMemory memory = memory_of(part);
            part.images.for_each_load(
                data.input, part.slab.input, zeros_of(part), geometry_.ring,
                [&](const RowSource& source, index_t first_slot) {
                    transform_->load_rows(source, first_slot, memory, stream);
                },
                [&](index_t first_slot, index_t count) {
                    transform_->write_zeros(first_slot, count, memory, stream);
                });
        });
        on_step(slabs);
        for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
            on_devices(slabs, [&](const DevicePart& part, const SlabData&, cudaStream_t stream) {
                // No pass along z runs beside the first chunk.
                const double block_share = chunk == 0 ? 1 : tuning_.y_share;
                for (const IndexRange& slots : part.loaded)
                    transform_->transform_y(PassDirection::forward, slots, along_x(chunk),
                                            memory_of(part), stream, block_share);
                part.y_done[chunk].record(stream);
            });
        }
        on_step(slabs);
    }

    void enqueue_z(std::span<const SlabData> slabs) const {
        const double block_share = chunks_ > 1 || tuning_.chunks == 1 ? tuning_.z_share : 1;
        for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
            on_devices(slabs, [&](const DevicePart& part, const SlabData&, cudaStream_t stream) {
                const cudaStream_t z_stream = chunks_ > 1 ? part.z_stream : stream;
                for (const auto& other : parts_)
                    if (chunks_ > 1 || other.get() != &part)
                        other->y_done[chunk].make_wait(z_stream);
                transform_->convolve_block(window_, part.columns, part.blocks[chunk],
                                           memory_of(part), z_stream, block_share);
                part.z_done[chunk].record(z_stream);
            });
        }
        on_step(slabs);
    }

    /// Enqueues the inverse passes along y chunk by chunk, and along x.
    void enqueue_inverse(std::span<const SlabData> slabs) const {
        for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
            on_devices(slabs, [&](const DevicePart& part, const SlabData&, cudaStream_t stream) {
                for (const auto& other : parts_)
                    if (chunks_ > 1 || other.get() != &part) other->z_done[chunk].make_wait(stream);
                // No pass along z runs beside the last chunk.
                const double block_share = chunk + 1 == chunks_ ? 1 : tuning_.y_share;
                transform_->transform_y(PassDirection::inverse, part.stored, along_x(chunk),
                                        memory_of(part), stream, block_share);
            });
        }
        on_step(slabs);
        on_devices(slabs, [&](const DevicePart& part, const SlabData& data, cudaStream_t stream) {
            void* const target =
                part.fold ? extended_.data() + part.stored.begin * plane_bytes_of_extended_
                          : data.output;
            transform_->store_rows(part.stored.begin, part.images.target_of(target, part.stored),
                                   memory_of(part), stream);
        });
        on_step(slabs);
    }

    void on_step(std::span<const SlabData> slabs) const {
        if (!tuning_.on_step) return;
        const DeviceScope scope(parts_[0]->slab.device);
        tuning_.on_step(static_cast<CUstream_st*>(slabs[0].stream));
    }

    /// Transforms the kernel, and makes all tables of the passes, so that run() makes none.
    void prepare(const DeviceProgramSpec& spec) {
        const int first_device = parts_[0]->slab.device;
        std::vector<std::unique_ptr<CudaStream>> streams;
        std::vector<SlabData> slabs(parts_.size());
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            const DevicePart& part = *parts_[i];
            const DeviceScope scope(part.slab.device);
            // Copies from ordinary memory may still be running when they return.
            check(cudaDeviceSynchronize(), "preparing a GPU");
            streams.push_back(std::make_unique<CudaStream>());
            slabs[i].stream = static_cast<cudaStream_t>(*streams[i]);
            make_tables(part, *streams[i]);
        }
        const DeviceScope scope(first_device);
        DeviceMemory zeros;
        std::optional<CopiedTaps> copied;
        if (spec.run_kernel) {
            run_taps_.emplace(spec, first_device);
            zeros =
                DeviceMemory(first_device, bytes_of(spec.run_kernel->shape, spec.run_kernel->type));
            zeros.clear();
        } else {
            copied.emplace(spec, first_device);
        }
        check(cudaDeviceSynchronize(), "copying the kernel");
        enqueue_kernel(slabs, copied ? copied->taps() : run_taps_->taps_of(zeros.data()));
        for (const auto& stream : streams) stream->wait();
    }

    /// Runs every pass of a device once, on the ring's zeros.
    void make_tables(const DevicePart& part, const CudaStream& stream) const {
        const BlockMemory memory = memory_of(part);
        RowSource one_sample;
        one_sample.pixels.data = memory.ring;
        transform_->write_zeros(0, 1, memory, stream);
        transform_->load(one_sample, 0, memory, stream);
        transform_->convolve_block(window_, part.columns, part.blocks[0], memory, stream, 1);
        stream.wait();
    }

    SpreadTuning tuning_;
    BlockGeometry geometry_;
    std::size_t chunks_;
    ZWindow window_;
    index_t loaded_slots_;
    std::unique_ptr<PassTransform> transform_;
    std::vector<std::unique_ptr<DevicePart>> parts_;
    PeerMemory ring_, extended_;
    index_t plane_bytes_of_extended_ = 0;
    std::optional<RunTaps> run_taps_;  ///< of kernels that come with each run
    bool is_interrupted_ = false;      ///< an exception ended the last run
};

}  // namespace

SpreadTuning& spread_tuning() {
    static SpreadTuning tuning;
    return tuning;
}

std::unique_ptr<SpreadProgram> make_spread_program(const DeviceProgramSpec& spec,
                                                   const std::vector<ProgramSlab>& slabs) {
    return std::make_unique<PassesOnDevices>(spec, slabs);
}

}  // namespace convolume::gpu
