// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reduces the samples along one axis to one: the largest, the mean or the sum.

#include <string_view>

#include "convolume/volume.hpp"

namespace convolume::cli {

enum class ProjectionKind { max, mean, sum };
const char* to_string(ProjectionKind by);
/// Parses "max", "mean" or "sum". Throws InvalidArgument that lists them.
ProjectionKind parse_project_by(std::string_view name);

/// Returns the extents of `shape` without `axis`: one plane, whose rows are the slower remaining
/// axis and whose columns are the faster one, as in NumPy.
Shape3 without_axis(const Shape3& shape, int axis);

/// Returns the pixel type of a projection: that of the image for the largest values, else float32.
PixelType projected_type(ProjectionKind by, PixelType image);

/// The projection of one volume, or of a region of it, to which samples are added box by box. Sums
/// are float64 until the end. A NaN along the axis makes the result NaN, as in NumPy.
class Reduction {
  public:
    /// `largest` has the extents of the largest region that is projected at a time.
    Reduction(ProjectionKind by, int axis, const Shape3& largest, PixelType image);

    /// Begins the projection of a region with these extents.
    void begin(const Shape3& region);
    /// Adds samples that begin at `offset` in the region.
    void add(const ConstImageView& box, const Index3& offset);
    /// Returns the projection: one plane of projected_type(), valid until the next begin().
    ConstImageView result();

  private:
    ProjectionKind by_;
    int axis_;
    Shape3 region_;
    Volume values_;   ///< maxima of the image's type, or sums in float64
    Volume rounded_;  ///< means or sums as float32
};

}  // namespace convolume::cli
