// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sampling of an object by maps that turn planes only, such as a turn of the sample around an axis
// of the microscope: along that axis, all voxels have the same positions and weights in a plane, so
// that they are computed once, and sums are those of short vectors.

#include <array>
#include <optional>

#include "convolume/shape.hpp"
#include "convolume/voxel_map.hpp"
#include "forward/corner_loops.hpp"

namespace convolume::forward {

/// Rounding errors of maps that were multiplied and inverted; a voxel is 1.
inline constexpr double rounding = 1e-9;

/// The parts of a linear interpolation that ViewSampling asks for, for maps with a free axis.
class PlaneSampling {
  public:
    /// Returns the axis along which `map` moves all voxels of the grid by the same length, if both
    /// extents are large enough for vectors.
    static std::optional<int> free_axis(const Shape3& object, const Shape3& grid,
                                        const VoxelMap& map);

    /// `samples` are those of a voxel along each axis of the grid.
    PlaneSampling(const Shape3& object, const Shape3& grid, const VoxelMap& map,
                  const Index3& samples, int free_axis);

    template <class T>
    void sample(const T* object, T* grid, int threads) const;
    template <class T>
    void add_back(const T* grid, T* object, int threads) const;
    /// Returns the bytes that each thread takes, for elements of some bytes.
    index_t bytes_of_thread(index_t element) const;

  private:
    /// Extents of an array, and its steps from element to element, along the two axes of planes
    /// and along the free axis.
    struct Layout {
        Layout(const Shape3& shape, const std::array<int, 3>& axes);

        std::array<index_t, 3> extents, steps;
        index_t plane() const { return extents[0] * extents[1]; }
    };

    template <class T>
    void load(const Layout& from, const T* array, index_t u, index_t first, double later,
              T* tile) const;
    template <class T>
    static void store(const Layout& to, const T* tile, index_t u, index_t first, bool adds,
                      T* array);

    std::array<int, 3> axes_;  ///< those of planes, and the free one
    Layout object_, grid_;
    PlaneMap map_;     ///< from planes of the grid to planes of the object
    index_t shift_;    ///< along the free axis, in whole voxels
    double fraction_;  ///< and the rest
};

}  // namespace convolume::forward
