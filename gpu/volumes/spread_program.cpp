// SPDX-License-Identifier: Apache-2.0
// A convolution of data in the memory of several devices. Every device transforms the planes of its
// own slabs along x and y, and a share of the columns along z. CUDA events order these steps.
// Frequencies along x are divided into chunks: the pass along z of one runs beside passes along y
// of others, because it waits for the link between devices.

#include <algorithm>
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
#include "gpu/volumes/program_images.hpp"
#include "gpu/volumes/spread_block.hpp"
#include "gpu/volumes/spread_tuning.hpp"

namespace convolume::gpu {

namespace {

/// The slabs, columns and tables of one device.
struct DevicePart {
    ProgramSlab slab;
    std::size_t index;               ///< number of the device in the block
    std::vector<IndexRange> loaded;  ///< slots that this device loads
    IndexRange stored;  ///< slots that this device stores, of the result before it is folded
    std::vector<ColumnBlock> blocks;  ///< columns of each chunk
    CudaStream z_stream{StreamPriority::highest};
    std::vector<CudaEvent> y_done, z_done;  ///< for each chunk
    ProgramImages images;
    std::optional<ResultFold> fold;
    StreamOrder order;

    /// Its device is the current one.
    DevicePart(const DeviceProgramSpec& spec, const ProgramSlab& of_slab, std::size_t number)
        : slab(of_slab), index(number), images(spec, of_slab.device) {
        if (!spec.fold_sources[0].empty()) fold.emplace(spec, of_slab.device);
    }
};

class PassesOnDevices : public SpreadProgram {
  public:
    PassesOnDevices(const DeviceProgramSpec& spec, const std::vector<ProgramSlab>& slabs)
        : tuning_(spread_tuning()),
          devices_(devices_of(slabs)),
          geometry_(choose_geometry(spec, devices_)),
          chunks_(chunks_of(geometry_, slabs.size(), tuning_)),
          loaded_slots_(spec.block.axes[0].loaded),
          block_(spec.block, geometry_, devices_, chunks_ > 1),
          start_(devices_),
          stored_(devices_),
          end_(devices_) {
        std::vector<PeerMemory::Part> extended;
        const index_t kept = spec.block.axes[0].kept;
        plane_bytes_of_extended_ = ResultFold::extended_bytes(spec) / std::max<index_t>(kept, 1);
        for (std::size_t i = 0; i < slabs.size(); ++i) {
            const DeviceScope scope(slabs[i].device);
            parts_.push_back(std::make_unique<DevicePart>(spec, slabs[i], i));
            DevicePart& part = *parts_.back();
            part.loaded = part.images.loaded_slots(part.slab.input, zeros_of(part));
            part.stored = part.fold ? even_part(kept, i, slabs.size()) : part.slab.output;
            divide_columns(part);
            extended.push_back({part.slab.device, part.stored.count() * plane_bytes_of_extended_});
        }
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
                start_.enqueue(streams_of(slabs));
            }
            enqueue(slabs, kernel);
            is_interrupted_ = false;
        });
    }

    index_t bytes(std::size_t slab) const override {
        const DevicePart& part = *parts_[slab];
        return block_.bytes(slab) + (has_fold() ? extended_.bytes_of_part(slab) : 0) +
               part.images.bytes() + (part.fold ? part.fold->bytes() : 0) +
               (slab == 0 && run_taps_ ? run_taps_->bytes() : 0);
    }
    bool keeps_spectrum() const override { return geometry_.keeps_spectrum; }

  private:
    static std::vector<int> devices_of(const std::vector<ProgramSlab>& slabs) {
        std::vector<int> devices;
        for (const ProgramSlab& slab : slabs) {
            require_device(slab.device);
            devices.push_back(slab.device);
        }
        return devices;
    }

    static StreamList streams_of(std::span<const SlabData> slabs) {
        StreamList streams;
        for (const SlabData& slab : slabs)
            streams.push_back(static_cast<cudaStream_t>(slab.stream));
        return streams;
    }

    static BlockGeometry choose_geometry(const DeviceProgramSpec& spec,
                                         const std::vector<int>& devices) {
        if (const std::string why = why_no_peer_memory(devices); !why.empty())
            throw GpuUnavailable(why);
        index_t limit = 0;
        for (const int device : devices) {
            const index_t whole =
                spec.memory_limit_bytes > 0 ? spec.memory_limit_bytes : usable_device_bytes(device);
            const index_t here = whole / occurrences_of(devices, device);
            limit = limit == 0 ? here : std::min(limit, here);
        }
        const index_t extended =
            spec.fold_sources[0].empty()
                ? 0
                : ResultFold::extended_bytes(spec) / static_cast<index_t>(devices.size());
        for (const bool keep : {true, false}) {
            if (keep && !spec.keep_spectrum) continue;
            DeviceRates rates;
            rates.device = devices[0];
            BlockGeometry geometry =
                spread_geometry(spec.block, {0, 0}, devices.size(), rates, keep);
            require_passes(spec.block, geometry);
            geometry.kernel_shift = spec.kernel_shift.z;
            const SpreadBytes bytes = spread_bytes(geometry, devices.size());
            if (checked_add(checked_add(bytes.spectra, bytes.kernel), extended) <= limit)
                return geometry;
        }
        throw OutOfMemory(
            message("this convolution does not fit ", format_bytes(limit), " of memory on each of ",
                    devices.size(), " GPUs: free some, or take more GPUs"),
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

    void divide_columns(DevicePart& part) const {
        const ColumnShare& columns = block_.columns(part.index);
        for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
            part.y_done.emplace_back();
            part.z_done.emplace_back();
            const IndexRange x = along_x(chunk);
            if (chunks_ == 1)
                part.blocks.push_back({columns.begin, columns.count, 1});
            else
                part.blocks.push_back(
                    {columns.begin + x.begin, x.count(), columns.count / geometry_.pitch});
        }
    }

    bool has_fold() const { return parts_.front()->fold.has_value(); }
    /// Returns the slots that this device clears if no plane of the image belongs there.
    IndexRange zeros_of(const DevicePart& part) const {
        return block_.slots(part.index).within({0, loaded_slots_});
    }
    BlockMemory memory_of(const DevicePart& part) const { return block_.memory(part.index); }

    /// Calls work(part, slab, stream) for every device, which is then the current one.
    template <class Work>
    void on_devices(std::span<const SlabData> slabs, const Work& work) const {
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            const DeviceScope scope(parts_[i]->slab.device);
            work(*parts_[i], slabs[i], static_cast<cudaStream_t>(slabs[i].stream));
        }
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

    void enqueue(std::span<const SlabData> slabs, const void* kernel) const {
        if (run_taps_) block_.enqueue_kernel(streams_of(slabs), run_taps_->taps_of(kernel));
        on_step(slabs);
        enqueue_forward(slabs);
        enqueue_z(slabs);
        enqueue_inverse(slabs);
        if (has_fold()) {
            stored_.enqueue(streams_of(slabs));
            on_devices(slabs,
                       [&](const DevicePart& part, const SlabData& data, cudaStream_t stream) {
                           part.fold->fold(extended_.data(), data.output, part.slab.output, stream);
                       });
        }
        end_.enqueue(streams_of(slabs));
        on_step(slabs);
    }

    /// Enqueues the passes along x, and along y chunk by chunk.
    void enqueue_forward(std::span<const SlabData> slabs) const {
        on_devices(slabs, [&](const DevicePart& part, const SlabData& data, cudaStream_t stream) {
            const BlockMemory memory = memory_of(part);
            part.images.for_each_load(
                data.input, part.slab.input, zeros_of(part), geometry_.ring,
                [&](const RowSource& source, index_t first_slot) {
                    block_.transform().load_rows(source, first_slot, memory, stream);
                },
                [&](index_t first_slot, index_t count) {
                    block_.transform().load_zeros(first_slot, count, memory, stream);
                });
        });
        on_step(slabs);
        for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
            on_devices(slabs, [&](const DevicePart& part, const SlabData&, cudaStream_t stream) {
                // No pass along z runs beside the first chunk.
                const double block_share = chunk == 0 ? 1 : tuning_.y_share;
                for (const IndexRange& slots : part.loaded)
                    block_.transform().transform_y(PassDirection::forward, slots, along_x(chunk),
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
                block_.transform().convolve_block(block_.window(), block_.columns(part.index),
                                                  part.blocks[chunk], memory_of(part), z_stream,
                                                  block_share);
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
                block_.transform().transform_y(PassDirection::inverse, part.stored, along_x(chunk),
                                               memory_of(part), stream, block_share);
            });
        }
        on_step(slabs);
        on_devices(slabs, [&](const DevicePart& part, const SlabData& data, cudaStream_t stream) {
            void* const target =
                part.fold ? extended_.data() + part.stored.begin * plane_bytes_of_extended_
                          : data.output;
            block_.transform().store_rows(part.stored.begin,
                                          part.images.target_of(target, part.stored),
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
        std::vector<std::unique_ptr<CudaStream>> owned;
        StreamList streams;
        for (const int device : devices_) {
            const DeviceScope scope(device);
            // Copies from ordinary memory may still be running when they return.
            check(cudaDeviceSynchronize(), "preparing a GPU");
            owned.push_back(std::make_unique<CudaStream>());
            streams.push_back(*owned.back());
        }
        block_.make_tables(streams);
        const DeviceScope scope(devices_[0]);
        DeviceMemory zeros;
        std::optional<CopiedTaps> copied;
        if (spec.run_kernel) {
            run_taps_.emplace(spec, devices_[0]);
            zeros =
                DeviceMemory(devices_[0], bytes_of(spec.run_kernel->shape, spec.run_kernel->type));
            zeros.clear();
        } else {
            copied.emplace(spec, devices_[0]);
        }
        check(cudaDeviceSynchronize(), "copying the kernel");
        block_.enqueue_kernel(streams, copied ? copied->taps() : run_taps_->taps_of(zeros.data()));
        for (const auto& stream : owned) stream->wait();
    }

    SpreadTuning tuning_;
    std::vector<int> devices_;
    BlockGeometry geometry_;
    std::size_t chunks_;
    index_t loaded_slots_;
    SpreadBlock block_;
    Meeting start_, stored_, end_;
    std::vector<std::unique_ptr<DevicePart>> parts_;
    PeerMemory extended_;
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
