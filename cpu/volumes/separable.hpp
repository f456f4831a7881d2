// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolution with kernels of rank 1, by three sums along single axes. The outputs are cut into
// tiles that advance along z. Rows of a plane are filtered along x when they are loaded, then along
// y into a ring of the last kernel.z planes, and along z when they leave it. Tiles are so narrow
// that their ring stays in the cache of a core. Every sum has the same terms in the same order in
// all tiles, so that results depend neither on the tiles nor on the number of threads.

#include <memory>

#include "cpu/volumes/cpu_engine.hpp"

namespace convolume::cpu {

/// Sizes of the tiles.
struct SeparableTiles {
    Shape3 size;             ///< outputs of a tile; the last tiles may have fewer
    Shape3 count;            ///< number of tiles
    index_t planes_at_once;  ///< output planes that are computed together
    index_t ring_planes;     ///< planes of the ring
    index_t row;             ///< samples of a filtered row in scratch memory
    index_t loaded_row;      ///< samples of a loaded row in scratch memory

    SeparableTiles(const Block& block, int threads);
    /// Returns the bytes of scratch memory of each thread.
    index_t scratch_bytes(const Block& block) const;
    /// Returns the mean number of times that a sample is loaded, filtered along x, and along y.
    std::array<double, 3> repeats(const Shape3& kernel) const;
};

/// Makes a kernel from real taps of rank 1, which are as in Engine::prepare().
std::shared_ptr<const CpuKernel> make_separable_kernel(const ConstImageView& taps,
                                                       Precision precision);

}  // namespace convolume::cpu
