// SPDX-License-Identifier: Apache-2.0
#pragma once
// The part of an image, with all planes, in which most of its light is.

#include <vector>

#include "convolume/shape.hpp"

namespace convolume::deconvolve {

class BrightestPart {
  public:
    BrightestPart(const Shape3& image, const Shape3& part, int threads);

    /// Forgets the planes, for another image.
    void clear();
    /// Adds the light of a plane of float32 pixels. Those that are marked are left out.
    void add_plane(const float* pixels);
    Box3 find() const;

  private:
    Shape3 image_, part_;
    int threads_;
    index_t cells_y_, cells_x_;
    std::vector<double> light_;  ///< light of squares of pixels, over all planes
};

}  // namespace convolume::deconvolve
