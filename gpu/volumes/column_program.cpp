// SPDX-License-Identifier: Apache-2.0
// A convolution of slabs by shares of the columns, in the memory of several devices. Every device
// transforms its own planes along x and y, and a share of the columns along z. CUDA events order
// these steps.
// Frequencies along x are divided into chunks: the pass along z of one runs beside passes along y
// of others, because it waits for the link between devices.

#include <algorithm>

#include "gpu/runtime/check.hpp"
#include "gpu/volumes/slab_program.hpp"
#include "gpu/volumes/spread_block.hpp"

namespace convolume::gpu {

namespace {

/// The columns of one device, which is the current one when they are made.
struct ColumnPart {
    std::vector<IndexRange> loaded;   ///< slots that this device loads
    std::vector<ColumnBlock> blocks;  ///< columns of each chunk
    CudaStream z_stream{StreamPriority::highest};
    std::vector<CudaEvent> y_done, z_done;  ///< for each chunk
};

class SharesOfColumns : public SlabProgram {
  public:
    SharesOfColumns(const DeviceProgramSpec& spec, const std::vector<ProgramSlab>& slabs,
                    const BlockGeometry& geometry)
        : SlabProgram(spec, slabs),
          geometry_(geometry),
          chunks_(chunks_of(geometry_, slabs.size(), tuning())),
          loaded_slots_(spec.block.axes[0].loaded),
          block_(spec.block, geometry_, devices(), chunks_ > 1) {
        for (std::size_t i = 0; i < parts(); ++i) {
            const DeviceScope scope(devices()[i]);
            parts_.push_back(std::make_unique<ColumnPart>());
            parts_.back()->loaded = images(i).loaded_slots(slab(i).input, zeros_of(i));
            divide_columns(*parts_.back(), block_.columns(i));
        }
        prepare(spec);
    }

  private:
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

    void divide_columns(ColumnPart& part, const ColumnShare& columns) const {
        for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
            part.y_done.emplace_back();
            part.z_done.emplace_back();
            const IndexRange x = frequency_chunk(geometry_, chunk, chunks_);
            if (chunks_ == 1)
                part.blocks.push_back({columns.begin, columns.count, 1});
            else
                part.blocks.push_back(
                    {columns.begin + x.begin, x.count(), columns.count / geometry_.pitch});
        }
    }

    /// Returns the slots that a device clears if no plane of the image belongs there.
    IndexRange zeros_of(std::size_t i) const { return block_.slots(i).within({0, loaded_slots_}); }

    index_t bytes_of_transforms(std::size_t i) const override {
        return block_.bytes(i) + (i == 0 && run_taps_ ? run_taps_->bytes() : 0);
    }
    void join_own_streams(std::size_t i, cudaStream_t stream) const override {
        const ColumnPart& part = *parts_[i];
        part.z_done[0].record(part.z_stream);
        part.z_done[0].make_wait(stream);
    }

    void enqueue(std::span<const SlabData> slabs, const void* kernel) const override {
        if (run_taps_) block_.enqueue_kernel(streams_of(slabs), run_taps_->taps_of(kernel));
        on_step(slabs);
        enqueue_forward(slabs);
        enqueue_z(slabs);
        enqueue_inverse(slabs);
    }

    /// Enqueues the passes along x, and along y chunk by chunk.
    void enqueue_forward(std::span<const SlabData> slabs) const {
        on_devices(slabs, [&](std::size_t i, const SlabData& data, cudaStream_t stream) {
            const BlockMemory memory = block_.memory(i);
            images(i).for_each_load(
                data.input, slab(i).input, zeros_of(i), geometry_.ring,
                [&](const RowSource& source, index_t first_slot) {
                    block_.transform().load_rows(source, first_slot, memory, stream);
                },
                [&](index_t first_slot, index_t count) {
                    block_.transform().load_zeros(first_slot, count, memory, stream);
                });
        });
        on_step(slabs);
        for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
            on_devices(slabs, [&](std::size_t i, const SlabData&, cudaStream_t stream) {
                const ColumnPart& part = *parts_[i];
                // No pass along z runs beside the first chunk.
                const double block_share = chunk == 0 ? 1 : tuning().y_share;
                for (const IndexRange& slots : part.loaded)
                    block_.transform().transform_y(PassDirection::forward, slots,
                                                   frequency_chunk(geometry_, chunk, chunks_),
                                                   block_.memory(i), stream, block_share);
                part.y_done[chunk].record(stream);
            });
        }
        on_step(slabs);
    }

    void enqueue_z(std::span<const SlabData> slabs) const {
        const double block_share = chunks_ > 1 || tuning().chunks == 1 ? tuning().z_share : 1;
        for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
            on_devices(slabs, [&](std::size_t i, const SlabData&, cudaStream_t stream) {
                const ColumnPart& part = *parts_[i];
                const cudaStream_t z_stream = chunks_ > 1 ? part.z_stream : stream;
                for (const auto& other : parts_)
                    if (chunks_ > 1 || other.get() != &part)
                        other->y_done[chunk].make_wait(z_stream);
                block_.transform().convolve_block(block_.window(), block_.columns(i),
                                                  part.blocks[chunk], block_.memory(i), z_stream,
                                                  block_share);
                part.z_done[chunk].record(z_stream);
            });
        }
        on_step(slabs);
    }

    /// Enqueues the inverse passes along y chunk by chunk, and along x.
    void enqueue_inverse(std::span<const SlabData> slabs) const {
        for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
            on_devices(slabs, [&](std::size_t i, const SlabData&, cudaStream_t stream) {
                const ColumnPart& part = *parts_[i];
                for (const auto& other : parts_)
                    if (chunks_ > 1 || other.get() != &part) other->z_done[chunk].make_wait(stream);
                // No pass along z runs beside the last chunk.
                const double block_share = chunk + 1 == chunks_ ? 1 : tuning().y_share;
                block_.transform().transform_y(PassDirection::inverse, stored(i),
                                               frequency_chunk(geometry_, chunk, chunks_),
                                               block_.memory(i), stream, block_share);
            });
        }
        on_step(slabs);
        on_devices(slabs, [&](std::size_t i, const SlabData& data, cudaStream_t stream) {
            block_.transform().store_rows(stored(i).begin, target_of(i, data), block_.memory(i),
                                          stream);
        });
        on_step(slabs);
    }

    /// Transforms the kernel, and makes all tables of the passes, so that run() makes none.
    void prepare(const DeviceProgramSpec& spec) {
        std::vector<std::unique_ptr<CudaStream>> owned;
        StreamList streams;
        for (const int device : devices()) {
            const DeviceScope scope(device);
            // Copies from ordinary memory may still be running when they return.
            check(cudaDeviceSynchronize(), "preparing a GPU");
            owned.push_back(std::make_unique<CudaStream>());
            streams.push_back(*owned.back());
        }
        block_.make_tables(streams);
        const DeviceScope scope(devices()[0]);
        if (spec.run_kernel) run_taps_.emplace(spec, devices()[0]);
        const FirstTaps first(spec, run_taps_, devices()[0]);
        block_.enqueue_kernel(streams, first.taps());
        for (const auto& stream : owned) stream->wait();
    }

    BlockGeometry geometry_;
    std::size_t chunks_;
    index_t loaded_slots_;
    SpreadBlock block_;
    std::vector<std::unique_ptr<ColumnPart>> parts_;
    std::optional<RunTaps> run_taps_;  ///< of kernels that come with each run
};

}  // namespace

std::unique_ptr<SpreadProgram> make_column_program(const DeviceProgramSpec& spec,
                                                   const std::vector<ProgramSlab>& slabs,
                                                   const BlockGeometry& geometry) {
    return std::make_unique<SharesOfColumns>(spec, slabs, geometry);
}

}  // namespace convolume::gpu
