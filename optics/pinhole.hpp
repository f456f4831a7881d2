// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a pinhole lets through.

#include <vector>

#include "convolume/execution.hpp"
#include "optics/radial_grid.hpp"

namespace convolume::optics {

/// Means over a disc, of intensities that depend on the distance from the axis alone.
class Pinhole {
  public:
    /// The disc is centered on each of `radii_um`; intensities are given on `grid`, which
    /// reaches a radius of the disc farther.
    Pinhole(double radius_um, const RadialGrid& grid, const std::vector<double>& radii_um,
            int threads, const ExecutionContext& context);

    /// means[i] becomes the mean about radius i.
    void apply(const double* profile, double* means) const;

  private:
    struct Row {
        index_t first;  // of the profile
        index_t begin;  // of weights_
        index_t length;
    };
    std::vector<Row> rows_;
    std::vector<double> weights_;
};

}  // namespace convolume::optics
