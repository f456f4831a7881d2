// SPDX-License-Identifier: Apache-2.0
#pragma once
// A whole microscope: the lens, once or twice, and what its modality adds, such as pinholes.

#include <optional>
#include <vector>

#include "convolume/execution.hpp"
#include "optics/lens.hpp"
#include "optics/psf_options.hpp"
#include "optics/sampling.hpp"

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

/// Light of excitation h(r) that goes to the sample through one pinhole and to the camera through
/// the same one or another, at a distance r between source and camera point while the disc goes by:
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

    /// Radii at which h is to be given.
    const RadialGrid& grid() const { return grid_; }
    /// Doubles of scratch memory that apply() needs.
    index_t scratch_elems() const { return static_cast<index_t>(weights_.size()); }
    /// results[i] is the sum at radius i, for h on grid() and its integral over the plane.
    void apply(const double* h, double energy, double* scratch, double* results) const;

  private:
    RadialGrid grid_;
    index_t radii_;
    double cell_um2_;
    std::vector<double> weights_;    // of each length of K: its number of vectors, times d̂²
    std::vector<double> analysis_;   // [length of K][point of grid]
    std::vector<double> synthesis_;  // [radius][length of K]
};

/// Intensities of any modality at fixed radii, for one z after another.
class Response {
  public:
    /// Emission that meets a pinhole is sampled at steps of `step_rad`, see RadialGrid.
    Response(const PsfOptions& options, const Extent& extent, std::vector<double> radii_um,
             int threads, const ExecutionContext& context, double step_rad = RadialGrid::fine);

    index_t radii() const { return radii_; }
    /// Doubles of scratch memory that add_intensity() needs.
    index_t scratch_elems() const;
    /// sum[i] += weight · intensity(radius i, z).
    void add_intensity(double z_um, double weight, double* scratch, double* sum) const;
    /// ∫ intensity 2πr dr of a plane; not for is_product() modalities, where no formula is known.
    double plane_energy(double z_um) const;

  private:
    double sheet(double z_um) const;
    /// The profile whose light goes through pinholes, on a grid of its own.
    const RadialProfile& spread() const { return array_ ? *excitation_ : *emission_; }

    index_t radii_;
    std::optional<Pinhole> pinhole_;           // confocal only
    std::optional<PinholeArray> array_;        // spinning disc only
    std::optional<RadialProfile> excitation_;  // with one of these
    std::optional<RadialProfile> emission_;    // two-photon: excitation, squared
    bool squared_ = false;
    double sheet_fwhm_um_ = 0;  // 0: none
    double sheet_z_um_ = 0;
};

}  // namespace convolume::optics
