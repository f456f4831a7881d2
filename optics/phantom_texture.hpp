// SPDX-License-Identifier: Apache-2.0
#pragma once
// A smooth random field of mean 1 that any part of can be had on its own: cubic B-splines through
// random numbers on a grid, which depend on seed and place alone.

#include <cstdint>

#include "convolume/shape.hpp"

namespace convolume::optics {

class PhantomTexture {
  public:
    PhantomTexture(std::uint64_t seed, const VoxelSize& voxel) : seed_(seed), voxel_(voxel) {}

    /// Multiplies `row`, the `width` voxels of plane z and row y, by the field.
    void multiply_row(index_t z, index_t y, index_t width, double* row) const;

  private:
    std::uint64_t seed_;
    VoxelSize voxel_;
};

}  // namespace convolume::optics
