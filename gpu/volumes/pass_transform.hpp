// SPDX-License-Identifier: Apache-2.0
#pragma once
// The transforms of a block by our own passes. The pass along z can be divided: several devices
// that reach the ring's planes each take a share of the columns.

#include <memory>

#include "gpu/volumes/block_transform.hpp"
#include "gpu/volumes/spread_geometry.hpp"

namespace convolume::gpu {

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
    /// Transforms the planes of `source` along x into the ring's slots from first_slot on.
    virtual void load_rows(const RowSource& source, index_t first_slot, const BlockMemory& memory,
                           cudaStream_t stream) const = 0;
    /// Transforms slots along y, at the frequencies `along_x` alone: forward after the rows are
    /// loaded, and back before results are stored.
    virtual void transform_y(PassDirection direction, const IndexRange& slots,
                             const IndexRange& along_x, const BlockMemory& memory,
                             cudaStream_t stream, double block_share) const = 0;
    /// As convolve(), for some columns of a share.
    virtual void convolve_block(const ZWindow& window, const ColumnShare& share,
                                const ColumnBlock& block, const BlockMemory& memory,
                                cudaStream_t stream, double block_share) const = 0;
    /// Transforms planes back along x, from the slots from first_slot on to `target`.
    virtual void store_rows(index_t first_slot, const RowTarget& target, const BlockMemory& memory,
                            cudaStream_t stream) const = 0;
};

std::unique_ptr<PassTransform> make_pass_transform(const Block& block,
                                                   const BlockGeometry& geometry);

}  // namespace convolume::gpu
