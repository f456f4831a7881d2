// SPDX-License-Identifier: Apache-2.0
#pragma once
// A whole microscope: the lens, once or twice, and what its modality adds.

#include <optional>
#include <vector>

#include "optics/pinhole.hpp"
#include "optics/pinhole_array.hpp"
#include "optics/radial_profile.hpp"

namespace convolume::optics {

/// Angular frequencies, in radians per µm across the axis, that intensities of `options` do not
/// exceed: twice those of fields, and products add theirs.
double intensity_band(const PsfOptions& options);

/// Whether intensities are a product of those of two lenses, or of one with itself.
bool is_product(Modality modality);

/// The pinhole's radius in the sample.
double pinhole_radius_um(const PsfOptions& options);

/// The pinholes of a spinning disc, in the sample.
DiscPattern disc_pattern(const PsfOptions& options);

/// Of one lens at a wavelength.
double lens_band(const PsfOptions& options, double wavelength_um);

/// Intensities of any modality at fixed radii, for one z after another.
class Response {
  public:
    /// Emission that meets a pinhole is sampled at steps of `step_rad`, see RadialGrid.
    Response(const PsfOptions& options, const Extent& extent, std::vector<double> radii_um,
             int threads, const ExecutionContext& context, double step_rad = RadialGrid::fine);

    index_t radii() const { return radii_; }
    /// How many doubles add_intensity() needs of scratch memory.
    index_t scratch_elems() const;
    /// sum[i] += weight · intensity(radius i, z).
    void add_intensity(double z_um, double weight, double* scratch, double* sum) const;
    /// ∫ intensity 2πr dr of a plane; not for is_product() modalities, where no formula is known.
    double plane_energy(double z_um) const;

  private:
    double sheet(double z_um) const;
    void add_through_array(double z_um, double weight, double* scratch, double* sum) const;

    index_t radii_;
    std::optional<RadialGrid> emission_grid_;  // confocal only, as the two that follow
    std::optional<Pinhole> pinhole_;
    std::optional<PinholeArray> array_;  // spinning disc only
    std::optional<RadialProfile> excitation_;
    std::optional<RadialProfile> emission_;  // two-photon: excitation, squared
    bool squared_ = false;
    double sheet_fwhm_um_ = 0;  // 0: none
    double sheet_z_um_ = 0;
};

}  // namespace convolume::optics
