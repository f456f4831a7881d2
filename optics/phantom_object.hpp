// SPDX-License-Identifier: Apache-2.0
#pragma once
// Positions of a phantom's objects, the bodies that they are made of, and the texture of cells. All
// depend on nothing but the options and the number of an object or the position of a voxel.

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "convolume/phantom.hpp"
#include "convolume/shape.hpp"

namespace convolume::optics {

using Point = std::array<double, 3>;  // z, y, x

/// Throws InvalidArgument if an option is out of range.
void check_phantom(const PhantomOptions& options);

/// Returns the requested number of objects, or by default one that suits kind and volume.
index_t object_count(const PhantomOptions& options);

/// Returns the object of that number, with position, size and brightness.
PhantomObject place_object(const PhantomOptions& options, index_t number);

/// Bodies of one object that have equal shape and brightness.
struct EqualBodies {
    Point radius_um;
    double hollow;  ///< share of the radius that is left out, around the center
    double value;
    bool textured;
    std::vector<Point> centers_um;
};
void for_each_equal_bodies(const PhantomOptions& options, index_t number,
                           const PhantomObject& object,
                           const std::function<void(const EqualBodies&)>& use);

/// Returns the lowest and highest z of the object, in µm.
std::array<double, 2> z_range_um(const PhantomOptions& options, index_t number,
                                 const PhantomObject& object);

/// A smooth random field of mean 1: random numbers on a grid, interpolated by cubic B-splines.
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
