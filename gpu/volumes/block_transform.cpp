// SPDX-License-Identifier: Apache-2.0
#include "gpu/volumes/block_transform.hpp"

#include "gpu/runtime/check.hpp"
#include "gpu/volumes/direct/direct_transform.hpp"
#include "gpu/volumes/pass_transform.hpp"

namespace convolume::gpu {

void RingTransform::load_zeros(index_t first_slot, index_t planes, const BlockMemory& memory,
                               cudaStream_t stream) const {
    for_each_run(first_slot, planes, [&](index_t slot, index_t, index_t run) {
        check(cudaMemsetAsync(memory.ring + slot * geometry_.plane_bytes(), 0,
                              static_cast<std::size_t>(run * geometry_.plane_bytes()), stream),
              "clearing planes");
    });
}

RowSource row_source(const DeviceTaps& taps, const Shape3& grid) {
    RowSource source;
    source.pixels = taps.pixels;
    source.planes = taps.shape.z;
    source.loaded_y = taps.gather_y ? grid.y : taps.shape.y;
    source.loaded_x = taps.gather_x ? grid.x : taps.shape.x;
    source.gather_y = taps.gather_y;
    source.gather_x = taps.gather_x;
    return source;
}

std::unique_ptr<BlockTransform> make_block_transform(const Block& block,
                                                     const BlockGeometry& geometry, int device) {
    if (block.algorithm == Algorithm::direct) return make_direct_transform(block, geometry);
    if (geometry.uses_cufft) return make_cufft_transform(block, geometry, device);
    return make_pass_transform(block, geometry);
}

}  // namespace convolume::gpu
