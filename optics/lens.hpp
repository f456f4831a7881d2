// SPDX-License-Identifier: Apache-2.0
#pragma once
// One lens: the field in its pupil, and intensities over the distance from the axis.

#include <complex>
#include <vector>

#include "convolume/psf.hpp"

namespace convolume::optics {

/// Region that a pupil must resolve: the farther from axis and focus, the faster its phase turns.
struct Extent {
    double radius_um;
    double z_low_um;
    double z_high_um;
};

/// The field in the pupil, sampled for quadrature: the integrand of each term m = 0 … terms()−1
/// without its Bessel function Jₘ(wave(j) r), times the weight of node j: the field at distance r
/// is Σⱼ Jₘ(wave(j) r) · value(m, j).
class Pupil {
  public:
    /// Throws Cancelled, as all below do that are given a context.
    Pupil(const PsfOptions& options, const Extent& extent, const ExecutionContext& context);

    int terms() const { return static_cast<int>(amplitudes_.size()); }
    index_t nodes() const { return static_cast<index_t>(waves_.size()); }
    /// k NA ρ: radians per µm across the axis.
    double wave(index_t j) const { return waves_[static_cast<std::size_t>(j)]; }
    /// ∫ |field|² 2πr dr, terms weighted as in the intensity; z does not change it.
    double energy() const { return energy_; }
    /// Fills real[m * nodes() + j] and imag[…] with the values at `z_um`.
    void sample(double z_um, double* real, double* imag) const;

  private:
    using Complex = std::complex<double>;

    void add_segment(const PsfOptions& options, const Extent& extent, double end, bool evanescent,
                     const ExecutionContext& context);
    void add_node(const PsfOptions& options, double sine, double weight);
    void add_energy(double k, double sine, double weight);

    std::vector<double> waves_;
    std::vector<double> defocus_;  // k q(nᵢ): radians per µm of z
    std::vector<std::vector<Complex>> amplitudes_;
    double energy_ = 0;
};

/// The distance from the axis within which rays carry `share` of the light at `z_um`.
double ray_radius_um(const PsfOptions& options, double z_um, double share);

/// Intensities at fixed radii, for one z after another. Bessel functions do not depend on z: they
/// are computed once.
class RadialProfile {
  public:
    RadialProfile(const PsfOptions& options, const Extent& extent, std::vector<double> radii_um,
                  int threads, const ExecutionContext& context);

    index_t radii() const { return static_cast<index_t>(radii_um_.size()); }
    /// Doubles of scratch memory that add_intensity() needs.
    index_t scratch_elems() const { return index_t{2} * pupil_.terms() * pupil_.nodes(); }
    /// sum[i] += weight · h(radius i, z).
    void add_intensity(double z_um, double weight, double* scratch, double* sum) const;
    /// ∫ h 2πr dr over the whole plane.
    double plane_energy(double z_um) const;

  private:
    void add_gaussian(double z_um, double weight, double* sum) const;

    PsfOptions options_;
    std::vector<double> radii_um_;
    Pupil pupil_;
    Buffer bessel_;  // double [radius][term][node]
};

}  // namespace convolume::optics
