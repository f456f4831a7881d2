#pragma once
// Where a camera's pixels are in a volume of light: pixels gather the light that falls on their
// area, and the focus moves in steps from plane to plane.

#include "convolume/view.hpp"
#include "convolume/voxel_size.hpp"

namespace convolume {

/// Pixel (j, i) covers [j, j+1) · pixel.y × [i, i+1) · pixel.x from the corner of voxel (0, 0), and
/// holds the sum of the voxels below it, those at its edges in part: no light is lost or counted
/// twice. Plane k is the image at depth k · pixel.z, interpolated between the two planes next to
/// it. The camera ends with the last pixel and plane that are wholly inside the image.
class CameraGrid {
  public:
    /// `voxel` is the image's, `pixel` the camera's: its z the step of the focus. Throws
    /// InvalidArgument for pixels smaller than a voxel or larger than the image.
    CameraGrid(const Shape3& image, const VoxelSize& voxel, const VoxelSize& pixel);

    const Shape3& shape() const { return shape_; }

    /// Plane `plane` of the camera as the 1 × y × x float64 array `pixels`, from `image` (float32
    /// or float64, contiguous rows); the same to the last bit for any number of threads.
    void sample(const ConstImageView& image, index_t plane, double* pixels, int threads = 0) const;

  private:
    Shape3 image_;
    Shape3 shape_;
    double step_;    // in planes
    double height_;  // of a pixel, in voxels
    double width_;
};

}  // namespace convolume
