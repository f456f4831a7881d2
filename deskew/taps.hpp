// SPDX-License-Identifier: Apache-2.0
#pragma once
// Weights of the samples that voxels of a result are means of.

#include <vector>

#include "deskew/geometry.hpp"

namespace convolume::deskewing {

/// A recorded row and its weight.
struct RowTap {
    index_t plane, row;
    double weight;
};

/// Returns how far samples of an interpolation may be from the position, in samples.
double reach(Interpolation interpolation, double stretch);

/// The rows that make a row of the result.
class RowTaps {
  public:
    RowTaps(const Geometry& geometry, Interpolation interpolation)
        : geometry_(geometry), interpolation_(interpolation) {}

    /// Returns the taps of row y of plane z. None are returned if the row gets the fill.
    const std::vector<RowTap>& of(index_t z, index_t y);

  private:
    /// Appends the taps of recorded plane `plane` with the sum `weight`, around a position.
    void add_plane(index_t plane, double position, double weight);

    const Geometry& geometry_;
    Interpolation interpolation_;
    std::vector<RowTap> taps_;
};

/// The columns that make the columns of the result.
class ColumnTaps {
  public:
    ColumnTaps(const Geometry& geometry, Interpolation interpolation);

    /// Whether columns are those of the recording.
    bool is_identity() const { return spans_.empty(); }
    /// Computes the columns of the result from `begin` on. `samples` are those of a recorded row
    /// from the column `first` on. Columns outside the recording get `fill`.
    template <class Real>
    void apply(const Real* samples, index_t first, Real fill, index_t begin,
               std::vector<Real>& result) const;

  private:
    struct Span {
        index_t sample;          ///< first recorded column
        std::size_t begin, end;  ///< weights
    };
    std::vector<Span> spans_;
    std::vector<double> weights_;
};

}  // namespace convolume::deskewing
