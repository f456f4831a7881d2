// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolution by sums in space. The outputs are cut into strips of rows and planes; each strip
// advances along z with the last kernel.z planes in a ring that stays in cache:
//   direct     ring of loaded rows, one sum over all kernel samples
//   separable  rows are filtered along x as they are loaded, along y as they enter the ring, along
//   z
//              as they leave it
// Samples outside the block's loaded range count as zero.

#include <memory>

#include "cpu/volumes/cpu_engine.hpp"

namespace convolume::cpu {

/// Sizes of the strips and of the memory a thread needs: arithmetic only.
struct StripLayout {
    index_t line;          ///< samples of a padded row: kept + kernel - 1, and room for vectors
    index_t strip_rows;    ///< output rows of a strip
    index_t strip_planes;  ///< its output planes
    index_t strips_y, strips_z;

    StripLayout(const Block& block, int threads);
    index_t strips() const { return strips_y * strips_z; }
    /// Bytes of scratch memory of each thread.
    index_t scratch_bytes(const Block& block) const;
};

/// `taps` as in Engine::prepare; `separable` ones must be real and of rank 1.
std::shared_ptr<const Kernel> make_direct_kernel(const ConstImageView& taps, const Block& block);

}  // namespace convolume::cpu
