// SPDX-License-Identifier: Apache-2.0
#pragma once
// Model of a whole microscope: its lens, once or twice, and parts of its modality, such as
// pinholes.

#include <optional>
#include <vector>

#include "convolume/execution.hpp"
#include "optics/lens.hpp"
#include "optics/psf_options.hpp"
#include "optics/sampling.hpp"

namespace convolume::optics {

/// Weights for means over a disc of intensities that depend on the distance from the axis alone.
class Pinhole {
  public:
    /// The disc is centered on each of `radii_um`. Intensities are given on `grid`, which extends
    /// the disc's radius farther.
    Pinhole(double radius_um, const RadialGrid& grid, const std::vector<double>& radii_um,
            int threads, const ExecutionContext& context);

    /// Sets means[i] to the mean over the disc that is centered on radius i.
    void apply(const double* profile, double* means) const;

  private:
    struct WeightRow {
        index_t first;  // first sample of the profile that has a weight
        index_t begin;  // first element of weights_
        index_t length;
    };
    std::vector<WeightRow> rows_;
    std::vector<double> weights_;
};

/// Response of a spinning disc: light of excitation h(r) goes to the sample through one
/// pinhole, and emission goes to the camera through any pinhole. While the disc turns, at a
/// distance r between source and camera point, this light is
///
///     Σ_M (h ⊗ d ⊗ d)(r − M)
///
/// over all vectors M of the lattice, averaged over the directions of the lattice. d is a disc with
/// the pinhole's radius and sum 1, once for the light that comes and once for the light that
/// leaves. By Poisson's formula this is a sum over the reciprocal lattice:
///
///     Σ_K ĥ(K) d̂(K)² J₀(K r) / spacing²
///
/// It is finite, since h has no frequencies beyond the band of the lens.
class PinholeArray {
  public:
    /// h has no angular frequency above `band_per_um`.
    PinholeArray(const DiscPattern& pattern, double band_per_um,
                 const std::vector<double>& radii_um, int threads, const ExecutionContext& context);

    /// Returns the radii at which apply() expects h.
    const RadialGrid& grid() const { return grid_; }
    /// Returns the number of doubles of scratch memory that apply() needs.
    index_t scratch_elems() const { return static_cast<index_t>(weights_.size()); }
    /// Sets results[i] to the sum at radius i. `h` has the excitation on grid(), and `energy` is
    /// its integral over the plane.
    void apply(const double* h, double energy, double* scratch, double* results) const;

  private:
    RadialGrid grid_;
    index_t radii_;
    double cell_um2_;
    std::vector<double> weights_;    // number of vectors K of a length, times d̂²: [length of K]
    std::vector<double> analysis_;   // weights of h(r) in ĥ(K): [length of K][radius r of grid_]
    std::vector<double> synthesis_;  // values of J₀(K r): [radius r][length of K]
};

/// Intensities of a microscope of any modality at fixed radii, for one z after another.
class MicroscopeResponse {
  public:
    /// Emission that goes through a pinhole is sampled at steps of `step_rad`, see RadialGrid.
    MicroscopeResponse(const PsfOptions& options, const PupilRegion& extent,
                       std::vector<double> radii_um, int threads, const ExecutionContext& context,
                       double step_rad = RadialGrid::fine);

    index_t radii() const { return radii_; }
    /// Returns the number of doubles of scratch memory that add_intensity() needs.
    index_t scratch_elems() const;
    /// Adds intensities: sum[i] += weight · intensity(radius i, z).
    void add_intensity(double z_um, double weight, double* scratch, double* sum) const;
    /// Returns ∫ intensity 2πr dr of a plane; not for is_product() modalities: there is no formula.
    double plane_energy(double z_um) const;

  private:
    double sheet_intensity(double z_um) const;
    /// Returns the profile whose light goes through pinholes, on a grid of its own.
    const RadialProfile& pinhole_profile() const { return array_ ? *excitation_ : *emission_; }

    index_t radii_;
    std::optional<Pinhole> pinhole_;           // used in confocal microscopes only
    std::optional<PinholeArray> array_;        // used with spinning discs only
    std::optional<RadialProfile> excitation_;  // used with a pinhole or a disc
    std::optional<RadialProfile> emission_;  // with two-photon it has the excitation, to be squared
    bool squared_ = false;
    double sheet_fwhm_um_ = 0;  // width of the light sheet; 0 without one
    double sheet_z_um_ = 0;
};

}  // namespace convolume::optics
