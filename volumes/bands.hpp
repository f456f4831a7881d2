// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a split volume is made of a stream, and merged into one: band by band. A band is some rows of
// some steps of the split, which take a few planes from all over the image.

#include "decompose/split.hpp"
#include "volumes/plan.hpp"

namespace convolume {

struct Band {
    decompose::StepRange steps;
    index_t row_begin, row_end;
};

/// The bands that a split volume is divided into.
class Bands {
  public:
    static constexpr int in_flight = 3;  ///< bands that keep reading, splitting and writing busy

    /// `split`: the extents of the split volume, z the grid.
    Bands(const Problem& problem, int parts, const Shape3& split);

    index_t count() const { return checked_multiply(across_steps_, across_rows_); }
    Band operator[](index_t index) const;
    /// Of those in flight, with the planes of image and output that they meet.
    index_t bytes() const;

  private:
    index_t steps_, rows_;  ///< in all
    index_t band_steps_, band_rows_;
    index_t across_steps_, across_rows_;
    index_t row_bytes_;  ///< of one row of one step, in all planes
};

}  // namespace convolume
