// SPDX-License-Identifier: Apache-2.0
#pragma once
// The transforms of a block by our own passes. The pass along z can be divided: several devices
// that reach the ring's planes each take a share of the columns.

#include <memory>

#include "gpu/volumes/block_transform.hpp"

namespace convolume::gpu {

/// The columns along z that one device transforms: complex samples begin … begin + count - 1 of
/// every plane. Both are multiples of a column tile.
struct ColumnShare {
    index_t begin = 0, count = 0;
};

/// Returns the samples of a row in a column tile.
index_t tile_samples(const BlockGeometry& geometry);

/// Returns the columns of part `index` of `parts`, which differ by one column tile at most.
ColumnShare column_share(const BlockGeometry& geometry, std::size_t index, std::size_t parts);

/// A transform by passes. Functions for a share of the columns expect memory.kernel to hold only
/// these columns of the kernel's planes or spectrum.
class PassTransform : public RingTransform {
  public:
    using RingTransform::RingTransform;

    /// Transforms taps into the ring's slots from slot 0 on.
    virtual void load_taps(const DeviceTaps& taps, const BlockMemory& memory,
                           cudaStream_t stream) const = 0;
    /// Fills memory.kernel from the transformed taps in the ring.
    virtual void prepare_share(const ColumnShare& share, const BlockMemory& memory,
                               cudaStream_t stream) const = 0;
    /// As convolve(), for a share of the columns.
    virtual void convolve_share(const ZWindow& window, const ColumnShare& share,
                                const BlockMemory& memory, cudaStream_t stream) const = 0;
    /// As load_zeros(), by a CUDA kernel, which may write to the memory of several devices.
    virtual void write_zeros(index_t first_slot, index_t planes, const BlockMemory& memory,
                             cudaStream_t stream) const = 0;
};

std::unique_ptr<PassTransform> make_pass_transform(const Block& block,
                                                   const BlockGeometry& geometry);

}  // namespace convolume::gpu
