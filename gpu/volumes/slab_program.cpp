// SPDX-License-Identifier: Apache-2.0
#include "gpu/volumes/slab_program.hpp"

#include <algorithm>
#include <utility>

#include "gpu/volumes/spread_geometry.hpp"

namespace convolume::gpu {

namespace {

std::vector<int> devices_of(const std::vector<ProgramSlab>& slabs) {
    std::vector<int> devices;
    for (const ProgramSlab& slab : slabs) devices.push_back(slab.device);
    return devices;
}

bool folds(const DeviceProgramSpec& spec) {
    return !spec.fold_sources[0].empty();
}

}  // namespace

std::vector<IndexRange> stored_planes(const DeviceProgramSpec& spec,
                                      const std::vector<ProgramSlab>& slabs) {
    std::vector<IndexRange> stored;
    for (std::size_t i = 0; i < slabs.size(); ++i)
        stored.push_back(folds(spec) ? even_part(spec.block.axes[0].kept, i, slabs.size())
                                     : slabs[i].output);
    return stored;
}

index_t extended_share_bytes(const DeviceProgramSpec& spec, std::size_t parts) {
    return folds(spec) ? ResultFold::extended_bytes(spec) / static_cast<index_t>(parts) : 0;
}

IndexRange frequency_chunk(const BlockGeometry& geometry, std::size_t chunk, std::size_t chunks) {
    const index_t tile = tile_samples(geometry);
    const IndexRange tiles = even_part(geometry.pitch / tile, chunk, chunks);
    return {tiles.begin * tile, tiles.end * tile};
}

SlabProgram::Results::Results(const DeviceProgramSpec& spec, int device) : images(spec, device) {
    if (folds(spec)) fold.emplace(spec, device);
}

SlabProgram::SlabProgram(const DeviceProgramSpec& spec, const std::vector<ProgramSlab>& slabs)
    : slabs_(slabs),
      devices_(devices_of(slabs)),
      stored_(stored_planes(spec, slabs)),
      tuning_(spread_tuning()),
      after_interruption_(devices_),
      stored_meeting_(devices_),
      end_(devices_) {
    for (const int device : devices_) {
        const DeviceScope scope(device);
        results_.push_back(std::make_unique<Results>(spec, device));
    }
    if (!has_fold()) return;
    plane_bytes_of_extended_ =
        ResultFold::extended_bytes(spec) / std::max<index_t>(spec.block.axes[0].kept, 1);
    std::vector<PeerMemory::Part> extended;
    for (std::size_t i = 0; i < parts(); ++i)
        extended.push_back({devices_[i], stored_[i].count() * plane_bytes_of_extended_});
    extended_ = PeerMemory(extended, "a result before it is folded");
}

void SlabProgram::run(std::span<const SlabData> slabs, const void* kernel) {
    in_order(slabs, 0, [&] {
        // After an exception, devices may still run what was enqueued before it.
        if (std::exchange(is_interrupted_, true)) {
            on_devices(slabs, [&](std::size_t i, const SlabData&, cudaStream_t stream) {
                join_own_streams(i, stream);
            });
            after_interruption_.enqueue(streams_of(slabs));
        }
        enqueue_all(slabs, kernel);
        is_interrupted_ = false;
    });
}

void SlabProgram::enqueue_all(std::span<const SlabData> slabs, const void* kernel) {
    enqueue(slabs, kernel);
    if (has_fold()) {
        stored_meeting_.enqueue(streams_of(slabs));
        on_devices(slabs, [&](std::size_t i, const SlabData& data, cudaStream_t stream) {
            results_[i]->fold->fold(extended_.data(), data.output, slabs_[i].output, stream);
        });
    }
    end_.enqueue(streams_of(slabs));
}

template <class Work>
void SlabProgram::in_order(std::span<const SlabData> slabs, std::size_t first, const Work& work) {
    if (first == parts()) {
        work();
        return;
    }
    const DeviceScope scope(devices_[first]);
    results_[first]->order.run(static_cast<cudaStream_t>(slabs[first].stream),
                               [&] { in_order(slabs, first + 1, work); });
}

index_t SlabProgram::bytes(std::size_t i) const {
    const Results& results = *results_[i];
    return bytes_of_transforms(i) + (has_fold() ? extended_.bytes_of_part(i) : 0) +
           results.images.bytes() + (results.fold ? results.fold->bytes() : 0);
}

void SlabProgram::on_step(std::span<const SlabData> slabs) const {
    if (!tuning_.on_step) return;
    const DeviceScope scope(devices_[0]);
    tuning_.on_step(static_cast<CUstream_st*>(slabs[0].stream));
}

RowTarget SlabProgram::target_of(std::size_t i, const SlabData& data) const {
    void* const target =
        has_fold() ? extended_.data() + stored_[i].begin * plane_bytes_of_extended_ : data.output;
    return results_[i]->images.target_of(target, stored_[i]);
}

StreamList SlabProgram::streams_of(std::span<const SlabData> slabs) {
    StreamList streams;
    for (const SlabData& slab : slabs) streams.push_back(static_cast<cudaStream_t>(slab.stream));
    return streams;
}

}  // namespace convolume::gpu
