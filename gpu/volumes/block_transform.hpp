// SPDX-License-Identifier: Apache-2.0
#pragma once
// The transforms of one block: forward transforms of planes, the pass along z that multiplies with
// the kernel, and inverse transforms of planes. Our own passes are used if they support all three
// lengths, otherwise cuFFT's 3D transforms. All calls are asynchronous on the given CUDA stream.

#include <algorithm>
#include <memory>

#include "gpu/volumes/block_geometry.hpp"

namespace convolume::gpu {

/// Memory of a block. `kernel` is filled by prepare() or direct_taps().
struct BlockMemory {
    char* ring = nullptr;
    char* batch = nullptr;
    char* kernel = nullptr;
};

/// A kernel's taps on the device: contiguous planes, complex if the data are. The gathers, if not
/// null, list the tap at every position of the grid, for a kernel that is shifted on a periodic
/// grid.
struct DeviceTaps {
    PixelRows pixels;
    Shape3 shape;
    const std::int32_t* gather_y = nullptr;
    const std::int32_t* gather_x = nullptr;
};

/// Returns taps as rows to transform on a grid.
RowSource row_source(const DeviceTaps& taps, const Shape3& grid);

/// Transforms of a block. Immutable. Its functions may be called for several blocks at a time, each
/// with its own memory.
class BlockTransform {
  public:
    virtual ~BlockTransform() = default;

    /// Transforms taps into memory.kernel.
    virtual void prepare(const DeviceTaps& taps, const BlockMemory& memory,
                         cudaStream_t stream) const = 0;
    /// Transforms the planes of `source` into the ring's slots from first_slot on.
    virtual void load(const RowSource& source, index_t first_slot, const BlockMemory& memory,
                      cudaStream_t stream) const = 0;
    /// Sets the ring's slots first_slot … first_slot + planes - 1 to zero.
    virtual void load_zeros(index_t first_slot, index_t planes, const BlockMemory& memory,
                            cudaStream_t stream) const = 0;
    virtual void convolve(const ZWindow& window, const BlockMemory& memory,
                          cudaStream_t stream) const = 0;
    /// Stores planes of results, from the ring's slots from first_slot on, in `target`.
    virtual void store(index_t first_slot, const RowTarget& target, const BlockMemory& memory,
                       cudaStream_t stream) const = 0;
};

/// A transform whose planes are in the slots of a ring.
class RingTransform : public BlockTransform {
  public:
    RingTransform(const Block& block, const BlockGeometry& geometry)
        : block_(block), geometry_(geometry) {}
    void load_zeros(index_t first_slot, index_t planes, const BlockMemory& memory,
                    cudaStream_t stream) const override;

  protected:
    /// Calls run(slot, begin, count) for each run of consecutive slots that hold `count` planes
    /// from first_slot on. There are one or two runs.
    template <class Run>
    void for_each_run(index_t first_slot, index_t count, const Run& run) const {
        index_t slot = first_slot % geometry_.ring;
        for (index_t begin = 0; begin < count;) {
            const index_t here = std::min(count - begin, geometry_.ring - slot);
            run(slot, begin, here);
            begin += here;
            slot = 0;
        }
    }
    const Block block_;
    const BlockGeometry geometry_;
};

std::unique_ptr<BlockTransform> make_block_transform(const Block& block,
                                                     const BlockGeometry& geometry, int device);

/// Makes the fallback for lengths that our own passes do not support: whole 3D transforms.
std::unique_ptr<BlockTransform> make_cufft_transform(const Block& block,
                                                     const BlockGeometry& geometry, int device);

}  // namespace convolume::gpu
