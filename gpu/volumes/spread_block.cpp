// SPDX-License-Identifier: Apache-2.0
#include "gpu/volumes/spread_block.hpp"

#include "convolume/error.hpp"
#include "gpu/runtime/check.hpp"

namespace convolume::gpu {

std::string why_no_passes(const Block& block, const BlockGeometry& geometry) {
    if (!geometry.uses_cufft) return {};
    return message(
        "a grid of ", to_string(block.grid()),
        " has a length without passes of our own, and cuFFT computes on one GPU: use one "
        "GPU, or lengths of up to 4096 samples along y and 8192 along x, and along z as many for "
        "each GPU (half of these in double precision)");
}

SpreadBlock::SpreadBlock(const Block& block, const BlockGeometry& geometry,
                         const std::vector<int>& devices, bool whole_rows)
    : geometry_(geometry),
      devices_(devices),
      window_(geometry.windows(block.axes[0]).front()),
      transform_(make_pass_transform(block, geometry)),
      taps_loaded_(devices),
      kernel_ready_(devices),
      planes_loaded_(devices),
      convolved_(devices) {
    std::vector<PeerMemory::Part> ring;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const int device = devices[i];
        Share share;
        share.columns = column_share(geometry, i, devices.size(), whole_rows);
        share.kernel = DeviceMemory(device, kernel_share_bytes(geometry, share.columns));
        share.kernel.clear();
        share.batch = DeviceMemory(device, geometry.batch_bytes);
        shares_.push_back(std::move(share));
        ring.push_back({device, slots(i).count() * geometry.plane_bytes()});
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
    const ColumnShare& columns = shares_[part].columns;
    transform_->convolve_block(window_, columns, {columns.begin, columns.count, 1}, memory(part),
                               stream, 1);
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
