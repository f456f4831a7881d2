// SPDX-License-Identifier: Apache-2.0
#pragma once
// Many samples along one axis become one: the largest, the mean or the sum.

#include <string_view>

#include "convolume/volume.hpp"

namespace convolume::cli {

enum class ProjectBy { max, mean, sum };
const char* to_string(ProjectBy by);
/// "max", "mean", "sum"; throws InvalidArgument that lists them.
ProjectBy parse_project_by(std::string_view name);

/// Extents of what is left of `shape` without `axis`, as a picture: one plane, whose rows are the
/// slower axis and whose columns are the faster one, as in NumPy.
Shape3 without_axis(const Shape3& shape, int axis);

/// The type of a projection: that of the image for the largest values, else float32.
PixelType projected_type(ProjectBy by, PixelType image);

/// The projection of one volume, or of part of it, that is added some boxes at a time. Sums are
/// float64 until the end. A NaN along the axis makes the result NaN, as in NumPy.
class Reduction {
  public:
    /// `largest`: extents of the largest region that is projected at a time.
    Reduction(ProjectBy by, int axis, const Shape3& largest, PixelType image);

    /// Begins with a region of these extents, which is `region[axis]` samples deep.
    void begin(const Shape3& region);
    /// Adds samples that begin at `offset` in the region.
    void add(const ConstImageView& box, const Index3& offset);
    /// One plane of projected_type(); valid until the next begin().
    ConstImageView result();

  private:
    ProjectBy by_;
    int axis_;
    Shape3 region_;
    Volume values_;   ///< of the image's type for max, else float64
    Volume rounded_;  ///< of mean and sum
};

}  // namespace convolume::cli
