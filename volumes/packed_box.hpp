// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a task reads of an image that is not in memory: the samples that its gathers name, each
// once, packed into one box.

#include <array>
#include <functional>
#include <vector>

#include "convolume/image_view.hpp"

namespace convolume {

class PackedBox {
  public:
    /// `gathers`: as in BlockInput.
    explicit PackedBox(const std::array<std::vector<index_t>, 3>& gathers);

    Shape3 shape() const { return {axes_[0].extent, axes_[1].extent, axes_[2].extent}; }
    /// The gathers, as indices of the packed box.
    std::array<std::vector<index_t>, 3> gathers() const;

    /// Fills `target`, of shape(), by calls of `read_box(box of the image, view)`.
    void read(const std::function<void(const Box3&, const ImageView&)>& read_box,
              const ImageView& target) const;

  private:
    /// Samples [begin, end) of the image lie from `at` on.
    struct Run {
        index_t begin, end, at;
    };
    struct Axis {
        std::vector<Run> runs;
        index_t extent = 0;
        std::vector<index_t> gather;
    };
    static Axis pack(const std::vector<index_t>& gather);

    std::array<Axis, 3> axes_;
};

}  // namespace convolume
