// SPDX-License-Identifier: Apache-2.0
#include "gpu/volumes/spread_geometry.hpp"

#include <algorithm>

namespace convolume::gpu {

IndexRange even_part(index_t count, std::size_t index, std::size_t parts) {
    const auto begin = [&](std::size_t part) {
        return count * static_cast<index_t>(part) / static_cast<index_t>(parts);
    };
    return {begin(index), begin(index + 1)};
}

index_t tile_samples(const BlockGeometry& geometry) {
    return geometry.sample_bytes == static_cast<index_t>(sizeof(std::complex<float>))
               ? tile_columns<float>
               : tile_columns<double>;
}

ColumnShare column_share(const BlockGeometry& geometry, std::size_t index, std::size_t parts,
                         bool whole_rows) {
    const index_t unit = whole_rows ? geometry.pitch : tile_samples(geometry);
    const index_t units = geometry.plane / unit;
    const auto begin = [&](std::size_t part) {
        return units * static_cast<index_t>(part) / static_cast<index_t>(parts) * unit;
    };
    return {begin(index), begin(index + 1) - begin(index)};
}

BlockGeometry spread_geometry(const Block& block, const PlaneBytes& pixels, std::size_t parts,
                              const DeviceRates& rates, bool keep_spectrum) {
    BlockGeometry geometry = block_geometry(block, pixels, 0, rates, keep_spectrum);
    geometry.is_spread = parts > 1;
    // Planes of the kernel are transformed in the ring, too.
    geometry.ring = std::max(geometry.ring, geometry.kernel_planes);
    geometry.ring_bytes = checked_multiply(geometry.ring, geometry.plane_bytes());
    if (geometry.batch_bytes == 0) return geometry;
    const index_t tile = tile_samples(geometry);
    const index_t tiles = geometry.batch_columns / tile / static_cast<index_t>(parts);
    geometry.batch_columns = std::max<index_t>(tiles, 1) * tile;
    geometry.batch_bytes = geometry.batch_columns * geometry.z_length * geometry.sample_bytes;
    return geometry;
}

index_t kernel_share_bytes(const BlockGeometry& geometry, const ColumnShare& share) {
    return checked_multiply(geometry.keeps_spectrum ? geometry.z_length : geometry.kernel_planes,
                            share.count * geometry.sample_bytes);
}

index_t transfer_bytes(const BlockGeometry& geometry) {
    return checked_add(
        checked_multiply(geometry.transfer_buffers,
                         checked_add(geometry.source_buffer_bytes, geometry.target_buffer_bytes)),
        geometry.lists_bytes);
}

SpreadBytes spread_bytes(const BlockGeometry& geometry, std::size_t parts) {
    // Planes and columns are divided to within one.
    const auto count = static_cast<index_t>(parts);
    const index_t planes = ceil_div(geometry.ring, count);
    const index_t tile = tile_samples(geometry);
    const index_t columns = ceil_div(geometry.plane / tile, count) * tile;
    return {checked_add(checked_multiply(planes, geometry.plane_bytes()), geometry.batch_bytes),
            kernel_share_bytes(geometry, {0, columns})};
}

double exchanged_bytes(const Block& block, const BlockGeometry& geometry, std::size_t parts) {
    const auto planes = static_cast<double>(block.axes[0].loaded + block.axes[0].kept);
    const auto devices = static_cast<double>(parts);
    return planes * static_cast<double>(geometry.plane_bytes()) / devices * (1 - 1 / devices);
}

BlockTimes spread_times(const Block& block, const BlockGeometry& geometry, std::size_t parts,
                        const DeviceRates& rates, double link_bytes_per_s) {
    BlockTimes times = block_times(block, geometry, rates);
    const auto devices = static_cast<double>(parts);
    const double planes_s = (times.compute_s - times.z_s) / devices;
    times.z_s =
        std::max(times.z_s / devices, exchanged_bytes(block, geometry, parts) / link_bytes_per_s);
    // Ordinary memory is copied by the host, for all devices no faster than for one.
    const double links = block.staging_engines > 0 ? 1 : devices;
    times.to_device_s /= links;
    times.to_host_s /= links;
    times.compute_s = planes_s + times.z_s;
    // Planes are transformed while others travel, and the pass along z is between uploads and
    // downloads.
    const double in_s = std::max(times.read_s, times.to_device_s);
    const double out_s = std::max(times.write_s, times.to_host_s);
    const double transfers_s = in_s + out_s;
    times.alone_s = times.z_s + std::max(transfers_s, planes_s) +
                    BlockCost::hidden_share * std::min(transfers_s, planes_s);
    return times;
}

}  // namespace convolume::gpu
