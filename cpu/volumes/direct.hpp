// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolution by sums in space. The outputs are cut into strips of rows and planes. Each strip
// advances along z with the last kernel.z loaded planes in a ring buffer that stays in cache. Each
// result is one sum over all taps. Samples outside the loaded range of the block count as zero.

#include <memory>

#include "cpu/volumes/cpu_engine.hpp"

namespace convolume::cpu {

/// Sizes of the strips, and of the memory that a thread needs.
struct StripLayout {
    index_t line;          ///< samples of a padded row: kept + kernel - 1, and room for vectors
    index_t strip_rows;    ///< output rows of a strip
    index_t strip_planes;  ///< output planes of a strip
    index_t strips_y, strips_z;

    StripLayout(const Block& block, int threads);
    index_t strips() const { return strips_y * strips_z; }
    /// Returns the bytes of scratch memory of each thread.
    index_t scratch_bytes(const Block& block) const;
};

/// Makes a kernel. `taps` are as in Engine::prepare().
std::shared_ptr<const CpuKernel> make_direct_kernel(const ConstImageView& taps, const Block& block);

}  // namespace convolume::cpu
