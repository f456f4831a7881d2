#pragma once
// A kernel on voxels of another size.

#include "convolume/volume.hpp"
#include "convolume/voxel_size.hpp"

namespace convolume {

struct ResampledKernel {
    Volume values;  ///< float64 where the kernel was, else float32
    Index3 center;  ///< the voxel whose middle is where the middle of the kernel's centre was
};

/// What `kernel`, whose voxels are `from`, would be on voxels `to`, for real kernels. A sample is
/// what falls into its voxel: the result covers the kernel whole, and its sum is the same. Between
/// the edges of voxels the running sum is interpolated by a cubic spline (de Boor, A Practical
/// Guide to Splines, ch. IV), axis by axis; where the kernel has no negative sample, neither has
/// the result. `center` is an index of the kernel. Throws InvalidArgument or OutOfMemory.
ResampledKernel resample_kernel(const ConstImageView& kernel, const Index3& center,
                                const VoxelSize& from, const VoxelSize& to);

}  // namespace convolume
