#pragma once
// What can be said of a PSF without making it: widths, sampling, focus, and how large it must be.
// Lengths are in µm.

#include "convolume/psf.hpp"

namespace convolume {

struct PsfFacts {
    double rayleigh_lateral_um;  ///< 0.61 λ/NA
    double rayleigh_axial_um;  ///< 2 nᵢ λ/NA², the first dark point on the axis of small apertures
    /// Full widths at half maximum of the model itself, with its modality, across the axis and
    /// along it, through the brightest point.
    double fwhm_lateral_um;
    double fwhm_axial_um;
    /// The largest voxels that lose nothing: 1/(4 NA Σ 1/λ) and 1/(2 (nᵢ − √(nᵢ² − NA²)) Σ 1/λ),
    /// summed over emission and, for confocal, excitation. A light sheet adds its own frequencies
    /// along z, of which 1 % of the strongest is taken as the end.
    double nyquist_lateral_um;
    double nyquist_axial_um;
    double paraxial_focus_um;   ///< paraxial_focus_um()
    double brightest_focus_um;  ///< brightest_focus_um()
    double effective_na;        ///< min(NA, nₛ) where the model has a sample
    bool total_reflection;  ///< NA exceeds nₛ: steeper rays of far sources never leave the sample
    double pinhole_um;      ///< its diameter in the sample; 0 where there is none
};

/// Throws InvalidArgument or Cancelled.
PsfFacts psf_facts(const PsfOptions& options, const ExecutionContext& context = {});

/// The least odd size (of options.voxel, with the middle plane of make_psf() in its middle) that
/// holds `share`, between 0 and 1, of the light on the axis, ∫ h(0, z) dz, and in y and x, within a
/// disc, that share of each such plane's light. Throws Cancelled, and InvalidArgument, also for
/// what would take more than 4 GiB.
Shape3 psf_size_for(const PsfOptions& options, double share, const ExecutionContext& context = {});

}  // namespace convolume
