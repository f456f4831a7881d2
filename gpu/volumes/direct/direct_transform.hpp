// SPDX-License-Identifier: Apache-2.0
#pragma once
// Blocks by sums in space: the planes in the ring are samples, widened by what the kernel reaches
// beyond the outputs, and results are summed as they leave.

#include "gpu/runtime/device_memory.hpp"
#include "gpu/volumes/block_transform.hpp"
#include "gpu/volumes/direct/direct_job.hpp"

namespace convolume::gpu {

/// The block whose loaded samples are just those that its outputs need, and its input: what the
/// given one does not load is gathered as zero.
Block widened(const Block& block);
BlockInput widened(const Block& block, const BlockInput& input);

/// Rows, pitch and bytes of a block's planes, taps and gathers.
void describe_direct(const Block& block, BlockGeometry& geometry);

/// Seconds for a block's sums where a device makes `multiply_adds` of single precision a second.
double direct_seconds(const Block& block, double multiply_adds);

/// `block` is widened; BlockMemory::kernel is what direct_taps() made.
std::unique_ptr<BlockTransform> make_direct_transform(const Block& block,
                                                      const BlockGeometry& geometry);

/// A kernel's taps in the order of their layout: few stay in the host's memory, from where they
/// travel with every launch, many (BlockGeometry::kernel_bytes) are copied to the device.
DevicePool::Lease direct_taps(const Block& block, const ConstImageView& taps, DevicePool& pool,
                              cudaStream_t stream);

}  // namespace convolume::gpu
