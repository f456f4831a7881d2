// SPDX-License-Identifier: Apache-2.0
// A convolution of data in the memory of several devices. Planes of spectra are in one range of
// addresses, spread over the devices (spread_layout.hpp). Every device transforms the planes of its
// slots along x and y, and a share of the columns along z. Between these, devices exchange rows by
// copies, which run beside the passes of other groups of planes. No copy of the volume is
// transposed. CUDA events order these steps.

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
#include "gpu/volumes/program_images.hpp"
#include "gpu/volumes/spread_block.hpp"
#include "gpu/volumes/spread_layout.hpp"
#include "gpu/volumes/spread_tuning.hpp"

namespace convolume::gpu {

namespace {

/// The slots, columns and tables of one device.
struct DevicePart {
    ProgramSlab slab;
    index_t number;     ///< of the device in the layout
    IndexRange slots;   ///< slots of the ring that this device transforms along x and y
    IndexRange stored;  ///< slots that this device stores, of the result before it is folded
    ColumnShare columns;
    SlotParts along_z;
    CudaStream link_stream;                      ///< of copies to other devices
    std::vector<CudaEvent> transformed, copied;  ///< for each group
    CudaEvent z_done;
    ProgramImages images;
    std::optional<ResultFold> fold;
    StreamOrder order;

    /// Its device is the current one.
    DevicePart(const DeviceProgramSpec& spec, const ProgramSlab& of_slab, std::size_t of_layout,
               const SpreadLayout& layout)
        : slab(of_slab),
          number(static_cast<index_t>(of_layout)),
          slots(layout.slots(number)),
          columns(layout.share(number)),
          along_z(layout.along_z(number)),
          transformed(static_cast<std::size_t>(layout.groups())),
          copied(static_cast<std::size_t>(layout.groups())),
          images(spec, of_slab.device) {
        if (!spec.fold_sources[0].empty()) fold.emplace(spec, of_slab.device);
        const index_t kept = spec.block.axes[0].kept;
        stored = fold ? slots.within({0, kept}) : slab.output;
    }
};

class PassesOnDevices : public SpreadProgram {
  public:
    PassesOnDevices(const DeviceProgramSpec& spec, const std::vector<ProgramSlab>& slabs)
        : tuning_(spread_tuning()),
          devices_(devices_of(slabs)),
          geometry_(choose_geometry(spec, devices_, tuning_)),
          layout_(layout_of(geometry_, devices_.size(), tuning_)),
          loaded_{0, spec.block.axes[0].loaded},
          kept_{0, spec.block.axes[0].kept},
          block_(spec.block, geometry_, block_parts(layout_, devices_)),
          start_(devices_),
          planes_loaded_(devices_),
          planes_convolved_(devices_),
          planes_stored_(devices_),
          end_(devices_) {
        std::vector<PeerMemory::Part> extended;
        bytes_of_result_plane_ =
            ResultFold::extended_bytes(spec) / std::max<index_t>(kept_.count(), 1);
        for (std::size_t i = 0; i < slabs.size(); ++i) {
            const DeviceScope scope(slabs[i].device);
            parts_.push_back(std::make_unique<DevicePart>(spec, slabs[i], i, layout_));
            const DevicePart& part = *parts_.back();
            extended.push_back({part.slab.device, part.stored.count() * bytes_of_result_plane_});
            loads_own_slots_ = loads_own_slots_ && loads_own_slots(part);
            stores_own_slots_ =
                stores_own_slots_ && part.stored.within(part.slots).count() == part.stored.count();
        }
        if (has_fold()) extended_ = PeerMemory(extended, "a result before it is folded");
        prepare(spec);
    }

    void run(std::span<const SlabData> slabs, const void* kernel) override {
        in_order(slabs, 0, [&] {
            // After an exception, devices may still run what was enqueued before it.
            if (std::exchange(is_interrupted_, true)) {
                on_devices(slabs, [](const DevicePart& part, const SlabData&, cudaStream_t stream) {
                    part.z_done.record(part.link_stream);
                    part.z_done.make_wait(stream);
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
                                         const std::vector<int>& devices,
                                         const SpreadTuning& tuning) {
        if (devices.size() > SlotParts::most)
            throw InvalidArgument(message("a convolution over ", devices.size(), " slabs: at most ",
                                          SlotParts::most, " are supported"));
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
            const SpreadLayout layout = layout_of(geometry, devices.size(), tuning);
            geometry.plane = layout.plane();
            const index_t ring = checked_multiply(layout.planes(), geometry.plane_bytes()),
                          kernel = kernel_share_bytes(geometry, layout.share(0));
            if (checked_add(checked_add(ring, geometry.batch_bytes),
                            checked_add(kernel, extended)) <= limit)
                return geometry;
        }
        throw OutOfMemory(
            message("this convolution does not fit ", format_bytes(limit), " of memory on each of ",
                    devices.size(), " GPUs: free some, or take more GPUs"),
            MemoryKind::gpu);
    }

    /// Returns the layout of planes: fewer groups if they would be small.
    static SpreadLayout layout_of(const BlockGeometry& geometry, std::size_t devices,
                                  const SpreadTuning& tuning) {
        const auto count = static_cast<index_t>(devices);
        const index_t bytes =
            geometry.ring * geometry.rows * geometry.pitch * geometry.sample_bytes / count;
        const index_t most = bytes / std::max<index_t>(tuning.least_group_bytes, 1);
        return {count, geometry.ring, geometry.rows, geometry.pitch,
                std::clamp<index_t>(most, 2, std::max<index_t>(tuning.groups, 2))};
    }

    static std::vector<SpreadBlock::Part> block_parts(const SpreadLayout& layout,
                                                      const std::vector<int>& devices) {
        std::vector<SpreadBlock::Part> parts;
        for (std::size_t i = 0; i < devices.size(); ++i)
            parts.push_back({devices[i], layout.planes(), layout.share(static_cast<index_t>(i))});
        return parts;
    }

    /// Returns whether a device loads no slots but its own.
    static bool loads_own_slots(const DevicePart& part) {
        const std::vector<IndexRange> runs = part.images.loaded_slots(part.slab.input, part.slots);
        return std::all_of(runs.begin(), runs.end(), [&](const IndexRange& run) {
            return part.slots.begin <= run.begin && run.end <= part.slots.end;
        });
    }

    bool has_fold() const { return parts_.front()->fold.has_value(); }
    /// Returns the memory of a device, with the ring as `owner` finds its slots in it.
    BlockMemory memory_of(const DevicePart& part, const DevicePart& owner) const {
        BlockMemory memory = block_.memory(static_cast<std::size_t>(part.number));
        memory.ring += layout_.origin(owner.number) * geometry_.sample_bytes;
        return memory;
    }
    BlockMemory memory_of(const DevicePart& part) const { return memory_of(part, part); }

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
            planes_stored_.enqueue(streams_of(slabs));
            on_devices(slabs,
                       [&](const DevicePart& part, const SlabData& data, cudaStream_t stream) {
                           part.fold->fold(extended_.data(), data.output, part.slab.output, stream);
                       });
        }
        end_.enqueue(streams_of(slabs));
        on_step(slabs);
    }

    /// Loads the planes of `slots` that this device has, and those of its own slots that are zero.
    void load_rows(const DevicePart& part, const SlabData& data, const IndexRange& slots,
                   cudaStream_t stream) const {
        for (const auto& owner : parts_) {
            const BlockMemory memory = memory_of(part, *owner);
            part.images.for_each_load(
                data.input, part.slab.input, part.slots, owner->slots.within(slots), geometry_.ring,
                [&](const RowSource& source, index_t first_slot) {
                    block_.transform().load_rows(source, first_slot, memory, stream);
                },
                [&](index_t first_slot, index_t count) {
                    block_.transform().load_zeros(first_slot, count, memory, stream);
                });
        }
    }

    /// Stores the planes of `slots` that this device stores.
    void store_rows(const DevicePart& part, const SlabData& data, const IndexRange& slots,
                    cudaStream_t stream) const {
        char* const target = part.fold
                                 ? extended_.data() + part.stored.begin * bytes_of_result_plane_
                                 : static_cast<char*>(data.output);
        for (const auto& owner : parts_) {
            const IndexRange here = part.stored.within(slots).within(owner->slots);
            if (here.count() == 0) continue;
            char* const at = target + (here.begin - part.stored.begin) * bytes_of_result_plane_;
            block_.transform().store_rows(here.begin, part.images.target_of(at, here),
                                          memory_of(part, *owner), stream);
        }
    }

    /// Enqueues the forward passes along x and y, and copies of their rows to where they are
    /// transformed along z.
    void enqueue_forward(std::span<const SlabData> slabs) const {
        if (!loads_own_slots_) {
            on_devices(slabs, [&](const DevicePart& part, const SlabData& data,
                                  cudaStream_t stream) { load_rows(part, data, loaded_, stream); });
            planes_loaded_.enqueue(streams_of(slabs));
        }
        for (index_t group = 0; group < layout_.groups(); ++group) {
            const auto g = static_cast<std::size_t>(group);
            on_devices(
                slabs, [&](const DevicePart& part, const SlabData& data, cudaStream_t stream) {
                    const IndexRange slots = layout_.slots(part.number, group).within(loaded_);
                    if (loads_own_slots_) load_rows(part, data, slots, stream);
                    if (slots.count() > 0)
                        block_.transform().transform_y(PassDirection::forward, slots,
                                                       memory_of(part), stream);
                    part.transformed[g].record(stream);
                    part.transformed[g].make_wait(part.link_stream);
                    // Rows come to where other devices' group before has been.
                    if (group > 0) wait_for_copies(part, g - 1, part.link_stream);
                    for_each_other(part, [&](const DevicePart& other) {
                        copy_rows(layout_.own_rows(part.number, other.number),
                                  layout_.guest_rows(part.number, other.number), slots,
                                  other.columns, part.link_stream);
                    });
                    part.copied[g].record(part.link_stream);
                });
        }
        on_step(slabs);
    }

    void enqueue_z(std::span<const SlabData> slabs) const {
        const auto last = static_cast<std::size_t>(layout_.groups()) - 1;
        on_devices(slabs, [&](const DevicePart& part, const SlabData&, cudaStream_t stream) {
            part.copied[last].make_wait(stream);
            wait_for_copies(part, last, stream);
            block_.transform().convolve_share(block_.window(), part.columns, &part.along_z,
                                              memory_of(part), stream);
            part.z_done.record(stream);
            part.z_done.make_wait(part.link_stream);
        });
        on_step(slabs);
    }

    /// Enqueues copies of rows back to the devices of their planes, last group first, and the
    /// inverse passes along y and x.
    void enqueue_inverse(std::span<const SlabData> slabs) const {
        for (index_t group = layout_.groups() - 1; group >= 0; --group) {
            const auto g = static_cast<std::size_t>(group);
            on_devices(slabs, [&](const DevicePart& part, const SlabData&, cudaStream_t) {
                // Rows come to where those of the group after have been.
                if (group + 1 < layout_.groups()) wait_for_copies(part, g + 1, part.link_stream);
                for_each_other(part, [&](const DevicePart& other) {
                    copy_rows(layout_.guest_rows(other.number, part.number),
                              layout_.own_rows(other.number, part.number),
                              layout_.slots(other.number, group).within(kept_), part.columns,
                              part.link_stream);
                });
                part.copied[g].record(part.link_stream);
            });
            on_devices(slabs,
                       [&](const DevicePart& part, const SlabData& data, cudaStream_t stream) {
                           const IndexRange slots = layout_.slots(part.number, group).within(kept_);
                           wait_for_copies(part, g, stream);
                           if (slots.count() > 0)
                               block_.transform().transform_y(PassDirection::inverse, slots,
                                                              memory_of(part), stream);
                           if (stores_own_slots_) store_rows(part, data, slots, stream);
                       });
        }
        // Copies to other devices end before later work of this one.
        on_devices(slabs, [&](const DevicePart& part, const SlabData&, cudaStream_t stream) {
            part.copied[0].make_wait(stream);
        });
        if (!stores_own_slots_) {
            planes_convolved_.enqueue(streams_of(slabs));
            on_devices(slabs, [&](const DevicePart& part, const SlabData& data,
                                  cudaStream_t stream) { store_rows(part, data, kept_, stream); });
        }
        on_step(slabs);
    }

    /// Calls work(other) for all other devices, beginning with the next one, so that devices do not
    /// all copy to the same one.
    template <class Work>
    void for_each_other(const DevicePart& part, const Work& work) const {
        for (std::size_t i = 1; i < parts_.size(); ++i)
            work(*parts_[(static_cast<std::size_t>(part.number) + i) % parts_.size()]);
    }
    /// Makes a stream wait for the copies of a group by the other devices.
    void wait_for_copies(const DevicePart& part, std::size_t group, cudaStream_t stream) const {
        for_each_other(part,
                       [&](const DevicePart& other) { other.copied[group].make_wait(stream); });
    }
    /// Copies the rows of a share of all planes of `slots`. `from` and `to` are the places of slot
    /// 0, in samples from the memory of device 0.
    void copy_rows(index_t from, index_t to, const IndexRange& slots, const ColumnShare& share,
                   cudaStream_t stream) const {
        if (slots.count() == 0 || share.count == 0) return;
        const auto at = [&](index_t place) {
            return block_.memory(0).ring +
                   (place + slots.begin * layout_.plane()) * geometry_.sample_bytes;
        };
        const auto bytes = static_cast<std::size_t>(geometry_.plane_bytes());
        check(cudaMemcpy2DAsync(at(to), bytes, at(from), bytes,
                                static_cast<std::size_t>(share.count * geometry_.sample_bytes),
                                static_cast<std::size_t>(slots.count()), cudaMemcpyDefault, stream),
              "copying rows to another GPU");
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
    SpreadLayout layout_;
    IndexRange loaded_, kept_;  ///< slots
    SpreadBlock block_;
    Meeting start_, planes_loaded_, planes_convolved_, planes_stored_, end_;
    std::vector<std::unique_ptr<DevicePart>> parts_;
    PeerMemory extended_;
    index_t bytes_of_result_plane_ = 0;
    /// Whether no device loads (or stores) planes of another device's slots.
    bool loads_own_slots_ = true, stores_own_slots_ = true;
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
