// SPDX-License-Identifier: Apache-2.0
#pragma once
// Blocks of direct sums in space. The planes in the ring are samples, widened by the kernel's
// extent beyond the outputs. Sums are computed when results are stored.

#include "gpu/runtime/device_memory.hpp"
#include "gpu/volumes/block_transform.hpp"
#include "gpu/volumes/direct/direct_job.hpp"

namespace convolume::gpu {

/// Return a block that loads exactly the samples that its outputs need, and its input. Samples that
/// the given block does not load are gathered as zero.
Block widened_block(const Block& block);
BlockInput widened_block(const Block& block, const BlockInput& input);

/// Computes rows, pitch and bytes of a block's planes, taps and gathers.
void describe_direct(const Block& block, BlockGeometry& geometry);

/// Returns the seconds for a block's sums on a device with a rate of `multiply_adds` per second in
/// single precision.
double direct_seconds(const Block& block, double multiply_adds);

/// Creates the object that computes the direct sums of a widened block. It reads the taps from
/// BlockMemory::kernel, which must hold the result of direct_taps().
std::unique_ptr<BlockTransform> make_direct_transform(const Block& block,
                                                      const BlockGeometry& geometry);

/// Returns a kernel's taps in the order of their layout. A few taps stay in host memory and travel
/// with every launch. Many taps (BlockGeometry::kernel_bytes) are copied to the device.
DevicePool::BorrowedMemory direct_taps(const Block& block, const ConstImageView& taps,
                                       DevicePool& pool, cudaStream_t stream);

}  // namespace convolume::gpu
