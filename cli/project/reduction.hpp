// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adds up images along an axis.

#include "convolume/image_view.hpp"
#include "convolume/shape.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

enum class ProjectionKind { max, mean, sum };

/// Returns the extents of `shape` without `axis`: one plane, whose rows are the slower remaining
/// axis and whose columns are the faster one, as in NumPy.
Shape3 without_axis(const Shape3& shape, int axis);

/// The projection of a region of a volume, to which samples are added box by box, in float64. A NaN
/// along the axis makes the result NaN, as in NumPy.
class Reduction {
  public:
    /// `box` and `region` have the largest extents that are added and projected at a time.
    Reduction(int axis, ProjectionKind by, const Shape3& box, const Shape3& region);

    /// Begins the projection of a region with these extents.
    void begin(const Shape3& region);

    /// Adds a box at an offset in the region.
    void add(const ConstImageView& box, const Index3& offset);

    /// Returns the projection, which is not rounded.
    ConstImageView result();

  private:
    void add_row(const double* row, index_t samples, double* result, index_t distance) const;
    bool is_max() const { return by_ == ProjectionKind::max; }

    int axis_;
    ProjectionKind by_;
    Volume samples_;  ///< samples of a box
    Volume values_;
    Shape3 region_;
};

}  // namespace convolume::cli
