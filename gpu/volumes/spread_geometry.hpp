// SPDX-License-Identifier: Apache-2.0
#pragma once
// Geometry of a block that lies in the memory of several devices: layout, bytes of each device, and
// predicted times. Pure arithmetic, shared by the cost model and what runs such blocks.

#include "core/pair_axis.hpp"
#include "gpu/volumes/block_geometry.hpp"

namespace convolume::gpu {

/// Returns part `index` of `count` items that are divided evenly.
IndexRange even_part(index_t count, std::size_t index, std::size_t parts);

/// The columns along z that one device transforms: complex samples begin … begin + count - 1 of
/// every plane. Both are multiples of a column tile.
struct ColumnShare {
    index_t begin = 0, count = 0;
};

/// Some of the columns of a share: `columns` neighboring samples of each of `rows` rows.
struct ColumnBlock {
    index_t begin = 0;  ///< first complex sample in a plane
    index_t columns = 0, rows = 1;
};

/// Returns the samples of a row in a column tile.
index_t tile_samples(const BlockGeometry& geometry);

/// Returns the columns of part `index` of `parts`, which differ by one column tile at most, or by
/// one row if they are whole rows.
ColumnShare column_share(const BlockGeometry& geometry, std::size_t index, std::size_t parts,
                         bool whole_rows = false);

/// Returns the layout of a block over `parts` devices, which is held whole. Each device has
/// transfer buffers of the sizes in the layout.
BlockGeometry spread_geometry(const Block& block, const PlaneBytes& pixels, std::size_t parts,
                              const DeviceRates& rates, bool keep_spectrum);

/// Returns the bytes that the kernel takes on a device with these columns.
index_t kernel_share_bytes(const BlockGeometry& geometry, const ColumnShare& share);
/// Returns the bytes of transfer buffers, gathers and counters of one device.
index_t transfer_bytes(const BlockGeometry& geometry);

/// Bytes on the device that takes most.
struct SpreadBytes {
    index_t spectra;  ///< planes of the ring, and spectra along z made at a time (float64)
    index_t kernel;
};
SpreadBytes spread_bytes(const BlockGeometry& geometry, std::size_t parts);

/// Returns the bytes that the link of a device carries in each direction. A device reads and writes
/// the columns along z that it transforms, most of which are in planes of other devices.
double exchanged_bytes(const Block& block, const BlockGeometry& geometry, std::size_t parts);

/// Returns the predicted times of a block over `parts` equal devices, whose links carry
/// `link_bytes_per_s` in each direction. Uploads, passes along x and y, and downloads are divided
/// evenly.
BlockTimes spread_times(const Block& block, const BlockGeometry& geometry, std::size_t parts,
                        const DeviceRates& rates, double link_bytes_per_s);

}  // namespace convolume::gpu
