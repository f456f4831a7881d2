// SPDX-License-Identifier: Apache-2.0
#pragma once
// The transforms of one block: planes forward, the pass along z that multiplies with the kernel,
// planes back. By our own passes where they exist for all three lengths, else by cuFFT's 3D
// transforms. Everything is asynchronous on the stream given.

#include <algorithm>
#include <memory>

#include "gpu/volumes/block_geometry.hpp"

namespace convolume::gpu {

/// Memory that a block works in; `kernel` is what prepare(), or direct_taps(), filled.
struct BlockMemory {
    char* ring = nullptr;
    char* batch = nullptr;
    char* kernel = nullptr;
};

/// A kernel's taps on the device: contiguous planes of the data's kind. The gathers, where they are
/// not null, list the tap of every position of the grid: a kernel shifted on a periodic grid.
struct DeviceTaps {
    PixelRows pixels;
    Shape3 shape;
    const std::int32_t* gather_y = nullptr;
    const std::int32_t* gather_x = nullptr;
};

/// Immutable; its members may be called for several blocks at a time, each with its own memory.
class BlockTransform {
  public:
    virtual ~BlockTransform() = default;

    /// Transforms taps into memory.kernel.
    virtual void prepare(const DeviceTaps& taps, const BlockMemory& memory,
                         cudaStream_t stream) const = 0;
    /// Transforms the planes of `source` into slots first_slot … of the ring.
    virtual void load(const RowSource& source, index_t first_slot, const BlockMemory& memory,
                      cudaStream_t stream) const = 0;
    /// Makes slots first_slot … first_slot + planes - 1 the spectra of zeros.
    virtual void load_zeros(index_t first_slot, index_t planes, const BlockMemory& memory,
                            cudaStream_t stream) const = 0;
    virtual void convolve(const ZWindow& window, const BlockMemory& memory,
                          cudaStream_t stream) const = 0;
    /// Stores results from slots first_slot … on.
    virtual void store(index_t first_slot, const RowTarget& target, const BlockMemory& memory,
                       cudaStream_t stream) const = 0;
};

/// A transform whose planes lie in the slots of a ring.
class RingTransform : public BlockTransform {
  public:
    RingTransform(const Block& block, const BlockGeometry& geometry)
        : block_(block), geometry_(geometry) {}
    void load_zeros(index_t first_slot, index_t planes, const BlockMemory& memory,
                    cudaStream_t stream) const override;

  protected:
    /// Calls run(slot, begin, count) for each run of slots that follow each other, one or two, of
    /// `count` planes from first_slot on.
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
    /// The taps as rows to transform.
    RowSource source_of(const DeviceTaps& taps) const;

    const Block block_;
    const BlockGeometry geometry_;
};

std::unique_ptr<BlockTransform> make_block_transform(const Block& block,
                                                     const BlockGeometry& geometry, int device);

/// The fallback for lengths without passes of our own: whole 3D transforms.
std::unique_ptr<BlockTransform> make_cufft_transform(const Block& block,
                                                     const BlockGeometry& geometry, int device);

}  // namespace convolume::gpu
