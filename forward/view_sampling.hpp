// SPDX-License-Identifier: Apache-2.0
#pragma once
// Brings an object to the voxels of a view, by linear interpolation, and back by the exact adjoint.

#include <array>
#include <optional>

#include "convolume/shape.hpp"
#include "convolume/voxel_map.hpp"
#include "forward/plane_sampling.hpp"
#include "forward/voxel_loops.hpp"

namespace convolume::forward {

/// The linear map from an object to the grid of a view, some voxels larger than its recording.
class ViewSampling {
  public:
    /// Voxel p of the grid is at the position `map`(p) of the object.
    ViewSampling(const Shape3& object, const Shape3& grid, const VoxelMap& map);

    /// Whether the grid is the object.
    bool is_identity() const { return is_shift_ && grid_ == object_ && shift_ == Index3{}; }
    /// Whether voxels of the grid are voxels of the object, or beyond it.
    bool is_shift() const { return is_shift_; }

    /// The voxels of a row of the grid that are in the object, if the map is a shift.
    struct RowInObject {
        index_t first = 0, count = 0;  ///< in the row of the grid
        index_t at = 0;                ///< index in the object of the first of them
    };
    RowInObject row_in_object(index_t z, index_t y) const;
    /// Whether the grid has a part of row (z, y) of the object, if the map is a shift.
    bool meets_row(index_t z, index_t y) const {
        const auto is_within = [](index_t i, index_t extent) { return i >= 0 && i < extent; };
        const index_t in_z = z - shift_.z, in_y = y - shift_.y;
        return is_within(in_z, grid_.z) && is_within(in_y, grid_.y) &&
               row_in_object(in_z, in_y).count > 0;
    }
    const Shape3& grid() const { return grid_; }

    /// Returns the parameters with which a GPU computes the same.
    SamplingParameters parameters() const;

    /// Fills the grid.
    template <class T>
    void sample(const T* object, T* grid, int threads) const;
    /// Adds the adjoint of sample() to the object. Sums do not depend on the number of threads.
    template <class T>
    void add_back(const T* grid, T* object, int threads) const;
    /// Returns the bytes that each thread takes, for elements of some bytes.
    index_t bytes_of_thread(index_t element) const;

  private:
    template <class Visit>
    void for_each_sample(index_t row_z, index_t row_y, const Visit& visit) const;
    template <class T>
    void sample_row(const T* object, index_t z, index_t y, T* out) const;
    /// Returns a range of the samples of a row that contains those with a voxel of `part` around
    /// them.
    IndexRange samples_near(const SampleRow& row, const Box3& part) const;
    /// Returns a box of the grid that contains all voxels with such samples.
    Box3 rows_near(const Box3& part) const;

    Shape3 object_, grid_;
    VoxelMap map_, back_;              ///< from the grid to the object, and back
    bool is_shift_ = false;            ///< whether voxels of both have the same places
    Index3 shift_;                     ///< voxel of the object at the first one of the grid
    Index3 samples_;                   ///< number of samples of a voxel along each axis of the grid
    double share_ = 1;                 ///< weight of one sample
    std::array<double, 3> step_;       ///< from voxel to voxel of a row
    std::array<double, 3> per_voxel_;  ///< 1 / step_, or 0 if the row has one position on the axis
    Shape3 corner_box_;                ///< extents of the boxes in which add_back() adds samples up
    std::optional<PlaneSampling> planes_;  ///< set if the map turns planes only
};

}  // namespace convolume::forward
