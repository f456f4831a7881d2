// SPDX-License-Identifier: Apache-2.0
#pragma once
// Model of one lens: the field in its pupil, and intensities over the distance from the axis.

#include <complex>
#include <vector>

#include "convolume/psf.hpp"

namespace convolume::optics {

/// Region in which the field of a pupil must be accurate. Farther from axis and focus, the phase in
/// the pupil changes faster and needs more nodes.
struct PupilRegion {
    double radius_um;
    double z_low_um;
    double z_high_um;
};

/// The field in the pupil, sampled at the nodes of a quadrature. value(m, j) is the integrand of
/// term m = 0 … terms()−1 at node j without its Bessel function, times the weight of the node. So
/// the field at distance r from the axis is
///
///     Σⱼ Jₘ(wave(j) r) · value(m, j)
class Pupil {
  public:
    /// Throws Cancelled, as all functions in this header do that take a context.
    Pupil(const PsfOptions& options, const PupilRegion& extent, const ExecutionContext& context);

    int terms() const { return static_cast<int>(amplitudes_.size()); }
    index_t nodes() const { return static_cast<index_t>(waves_.size()); }
    /// Returns k NA ρ of node j: its angular frequency across the axis, in radians per µm.
    double wave(index_t j) const { return waves_[static_cast<std::size_t>(j)]; }
    /// Returns ∫ |field|² 2πr dr, with terms weighted as in the intensity. It does not depend on z.
    double energy() const { return energy_; }
    /// Fills real[m * nodes() + j] and imag[m * nodes() + j] with value(m, j) at `z_um`.
    void sample(double z_um, double* real, double* imag) const;

  private:
    using Complex = std::complex<double>;

    void add_segment(const PsfOptions& options, const PupilRegion& extent, double end,
                     bool evanescent, const ExecutionContext& context);
    void add_node(const PsfOptions& options, double sine, double weight);
    void add_energy(double k, double sine, double weight);

    std::vector<double> waves_;
    std::vector<double> defocus_;  // k q(nᵢ) of each node: radians per µm of z
    std::vector<std::vector<Complex>> amplitudes_;
    double energy_ = 0;
};

/// Returns the distance from the axis within which rays carry `share` of the light at `z_um`.
double ray_radius_um(const PsfOptions& options, double z_um, double share);

/// Intensities of one lens at fixed radii, for one z after another. Bessel functions are computed
/// once, since they do not depend on z.
class RadialProfile {
  public:
    RadialProfile(const PsfOptions& options, const PupilRegion& extent,
                  std::vector<double> radii_um, int threads, const ExecutionContext& context);

    index_t radii() const { return static_cast<index_t>(radii_um_.size()); }
    /// Returns the number of doubles of scratch memory that add_intensity() needs.
    index_t scratch_elems() const { return index_t{2} * pupil_.terms() * pupil_.nodes(); }
    /// Adds intensities h: sum[i] += weight · h(radius i, z).
    void add_intensity(double z_um, double weight, double* scratch, double* sum) const;
    /// Returns ∫ h 2πr dr over the whole plane.
    double plane_energy(double z_um) const;

  private:
    void add_gaussian(double z_um, double weight, double* sum) const;

    PsfOptions options_;
    std::vector<double> radii_um_;
    Pupil pupil_;
    Buffer bessel_;  // Bessel functions as double [radius][term][node]
};

}  // namespace convolume::optics
