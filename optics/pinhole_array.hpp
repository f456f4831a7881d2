// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pinholes of a spinning disc: light passes one of them to the sample, and the same one or
// another one to the camera.

#include <vector>

#include "convolume/execution.hpp"
#include "optics/radial_grid.hpp"

namespace convolume::optics {

/// Pinholes of `radius_um` on a square lattice of `spacing_um`, both in the sample.
struct DiscPattern {
    double radius_um;
    double spacing_um;
};

/// Of excitation h(r) behind one point of the disc: what source and camera point get while the disc
/// goes by, as far as r is the distance between them,
///
///     Σ_M (h ⊗ d ⊗ d)(r − M)
///
/// over all vectors M of the lattice, and averaged over its directions. d is a disc with the
/// pinhole's radius and sum 1: once for the light that comes, once for the light that leaves. The
/// sum is that over the reciprocal lattice (Poisson), Σ_K ĥ(K) d̂(K)² J₀(K r) / spacing², which
/// ends where the lens does: fields have no frequencies beyond.
class PinholeArray {
  public:
    /// h has no angular frequency above `band_per_um`.
    PinholeArray(const DiscPattern& pattern, double band_per_um,
                 const std::vector<double>& radii_um, int threads, const ExecutionContext& context);

    /// Where h is to be given.
    const RadialGrid& grid() const { return grid_; }
    /// How many doubles apply() needs of scratch memory.
    index_t scratch_elems() const { return static_cast<index_t>(weights_.size()); }
    /// results[i] is the sum at radius i, for h on grid() and its integral over the plane.
    void apply(const double* h, double energy, double* scratch, double* results) const;

  private:
    RadialGrid grid_;
    index_t radii_;
    double cell_um2_;
    std::vector<double> weights_;    // of each length of K: how often it occurs, times d̂²
    std::vector<double> analysis_;   // [length of K][point of grid]
    std::vector<double> synthesis_;  // [radius][length of K]
};

/// Vectors of the reciprocal lattice along an axis that lie within the band.
double lattice_steps(double spacing_um, double band_per_um);

}  // namespace convolume::optics
