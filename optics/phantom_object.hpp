// SPDX-License-Identifier: Apache-2.0
#pragma once
// Places of a phantom's objects, the bodies that they are made of, and the texture of cells:
// functions of the options and of an object's number or a place alone.

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "convolume/phantom.hpp"
#include "convolume/shape.hpp"

namespace convolume::optics {

using Point = std::array<double, 3>;  // z, y, x

/// Throws InvalidArgument.
void check_phantom(const PhantomOptions& options);

/// The number that was requested, or one that suits kind and volume.
index_t object_count(const PhantomOptions& options);

/// The object of that number.
PhantomObject place_object(const PhantomOptions& options, index_t number);

/// Bodies of equal shape; lengths in µm.
struct Bodies {
    Point radius_um;
    double hollow;  ///< of the radius, left out
    double value;
    bool textured;
    std::vector<Point> centers_um;
};
void for_each_bodies(const PhantomOptions& options, index_t number, const PhantomObject& object,
                     const std::function<void(const Bodies&)>& use);

/// Lowest and highest z of the object.
std::array<double, 2> height_um(const PhantomOptions& options, index_t number,
                                const PhantomObject& object);

/// A smooth random field of mean 1: cubic B-splines through random numbers on a grid.
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
