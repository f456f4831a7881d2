// SPDX-License-Identifier: Apache-2.0
#pragma once
// Computes a block of a result from the part of the recording that it needs.

#include "deskew/geometry.hpp"
#include "deskew/taps.hpp"

namespace convolume::deskewing {

/// Bytes that each thread takes beside the blocks.
index_t scratch_bytes(const Geometry& geometry, PixelType samples);

/// Box of the recording that `block` of the result needs, which may be empty.
Box3 needed_box(const Geometry& geometry, Interpolation interpolation, const Box3& block);

/// Computes blocks for any part of the recording.
class BlockSums {
  public:
    /// `options` must outlive the object.
    BlockSums(const Geometry& geometry, const DeskewOptions& options, int threads)
        : geometry_(geometry),
          options_(options),
          threads_(threads),
          columns_(geometry, options.interpolation) {}

    /// Computes the block of the result that begins at `begin` and has the shape of `block`.
    /// `recorded` has needed_box(), with adjacent columns.
    ClampCount compute(const PlacedImage& recorded, const Index3& begin,
                       const ImageView& block) const;

  private:
    template <class Sample, class Real>
    ClampCount compute_as(const PlacedImage& recorded, const Index3& begin,
                          const ImageView& block) const;

    const Geometry& geometry_;
    const DeskewOptions& options_;
    int threads_;
    ColumnTaps columns_;
};

}  // namespace convolume::deskewing
