// SPDX-License-Identifier: Apache-2.0
#pragma once
// Voxel sizes of images and kernels: when they differ, and when resampling is doubtful.

#include <optional>
#include <string>

#include "convolume/error.hpp"
#include "convolume/shape.hpp"
#include "operations/number_text.hpp"

namespace convolume {

/// Voxel sizes of kernel and image along the axes on which they differ; 1 along the others.
struct DifferingVoxels {
    VoxelSize kernel{1, 1, 1};
    VoxelSize image{1, 1, 1};

    bool differ() const { return !(kernel == image); }
};

/// Returns the voxel sizes that are known and differ. They do not count as different along axes on
/// which the kernel has one sample, and if they differ as little as files round them.
DifferingVoxels differing_voxels(const KnownVoxelSize& image, const KnownVoxelSize& kernel,
                                 const Shape3& kernel_shape);

/// Returns "voxel sizes differ: the image has …, KERNEL …", with the name of the kernel.
std::string voxel_difference(const KnownVoxelSize& image, const KnownVoxelSize& kernel,
                             const std::string& kernel_name);

/// Throws InvalidArgument if resampling a kernel of extents `before` leaves one sample across or
/// multiplies an extent by more than 100, which wrong units cause. Returns a warning for changes by
/// more than 10. Sentences begin with `difference`, and end with `more_cure`.
std::optional<Sentence> check_resampling(const Shape3& before, const Shape3& after,
                                         const std::string& difference,
                                         const std::string& more_cure = {});

}  // namespace convolume
