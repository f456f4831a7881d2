// SPDX-License-Identifier: Apache-2.0
#include "gpu/volumes/spread_block.hpp"

#include "convolume/error.hpp"
#include "gpu/runtime/check.hpp"

namespace convolume::gpu {

namespace {

std::vector<int> devices_of(const std::vector<SpreadBlock::Part>& parts) {
    std::vector<int> devices;
    for (const SpreadBlock::Part& part : parts) devices.push_back(part.device);
    return devices;
}

}  // namespace

Meeting::Meeting(const std::vector<int>& devices) : devices_(devices) {
    for (const int device : devices) {
        const DeviceScope scope(device);
        events_.emplace_back();
    }
}

void Meeting::enqueue(const StreamList& streams) const {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        const DeviceScope scope(devices_[i]);
        events_[i].record(streams[i]);
    }
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        const DeviceScope scope(devices_[i]);
        for (std::size_t other = 0; other < devices_.size(); ++other)
            if (other != i) events_[other].make_wait(streams[i]);
    }
}

std::string why_no_passes(const Block& block, const BlockGeometry& geometry) {
    if (!geometry.uses_cufft) return {};
    return message(
        "a grid of ", to_string(block.grid()),
        " has a length without passes of our own, and cuFFT computes on one GPU: use one "
        "GPU, or lengths of up to 4096 samples along z and y and 8192 along x (half as "
        "many in double precision)");
}

void require_passes(const Block& block, const BlockGeometry& geometry) {
    if (const std::string why = why_no_passes(block, geometry); !why.empty())
        throw GpuUnavailable(why);
}

std::vector<SpreadBlock::Part> even_parts(const BlockGeometry& geometry,
                                          const std::vector<int>& devices) {
    std::vector<SpreadBlock::Part> parts;
    for (std::size_t i = 0; i < devices.size(); ++i)
        parts.push_back({devices[i], even_part(geometry.ring, i, devices.size()).count(),
                         column_share(geometry, i, devices.size())});
    return parts;
}

SpreadBlock::SpreadBlock(const Block& block, const BlockGeometry& geometry,
                         const std::vector<Part>& parts)
    : geometry_(geometry),
      devices_(devices_of(parts)),
      window_(geometry.windows(block.axes[0]).front()),
      transform_(make_pass_transform(block, geometry)),
      taps_loaded_(devices_),
      kernel_ready_(devices_),
      planes_loaded_(devices_),
      convolved_(devices_) {
    std::vector<PeerMemory::Part> ring;
    for (const Part& part : parts) {
        Share share;
        share.columns = part.columns;
        share.kernel = DeviceMemory(part.device, kernel_share_bytes(geometry, part.columns));
        share.kernel.clear();
        share.batch = DeviceMemory(part.device, geometry.batch_bytes);
        shares_.push_back(std::move(share));
        ring.push_back({part.device, checked_multiply(part.planes, geometry.plane_bytes())});
    }
    ring_ = PeerMemory(ring, "planes of spectra");
}

BlockMemory SpreadBlock::memory(std::size_t part) const {
    return {ring_.data(), shares_[part].batch.data(), shares_[part].kernel.data()};
}

index_t SpreadBlock::bytes(std::size_t part) const {
    return ring_.bytes_of_part(part) + shares_[part].kernel.bytes() + shares_[part].batch.bytes();
}

void SpreadBlock::enqueue_kernel(const StreamList& streams, const DeviceTaps& taps) const {
    {
        const DeviceScope scope(devices_[0]);
        transform_->load_taps(taps, memory(0), streams[0]);
    }
    taps_loaded_.enqueue(streams);
    on_devices(streams, [&](std::size_t part, cudaStream_t stream) {
        transform_->prepare_share(shares_[part].columns, memory(part), stream);
    });
    kernel_ready_.enqueue(streams);
}

void SpreadBlock::convolve_columns_of(std::size_t part, cudaStream_t stream) const {
    transform_->convolve_share(window_, shares_[part].columns, nullptr, memory(part), stream);
}

void SpreadBlock::make_tables(const StreamList& streams) const {
    on_devices(streams, [&](std::size_t part, cudaStream_t stream) {
        const BlockMemory here = memory(part);
        RowSource one_sample;
        one_sample.pixels.data = here.ring;
        transform_->load_zeros(0, 1, here, stream);
        transform_->load(one_sample, 0, here, stream);
        convolve_columns_of(part, stream);
        check(cudaStreamSynchronize(stream), "working on the GPU");
    });
}

}  // namespace convolume::gpu
