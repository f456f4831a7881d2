// SPDX-License-Identifier: Apache-2.0
#pragma once
// Point spread functions of microscope objectives. Lengths are in µm, wavelengths are those in
// vacuum, axes z, y, x.
// Also: properties that are known without computing the PSF, and resampling of kernels to other
// voxel sizes.

#include <optional>
#include <string_view>
#include <vector>

#include "convolume/execution.hpp"
#include "convolume/export.hpp"
#include "convolume/shape.hpp"
#include "convolume/volume.hpp"

namespace convolume {

/// An objective, the layers it looks through, and what it was designed for.
struct Objective {
    double na = 1.4;
    double ni = 1.515;    ///< index of the immersion medium
    double ni0 = 1.515;   ///< … the design expects
    double ng = 1.515;    ///< index of the cover glass
    double ng0 = 1.515;   ///< … the design expects
    double ns = 1.33;     ///< index of the sample; NA may exceed it
    double ti0_um = 150;  ///< thickness of the immersion layer by design
    double tg_um = 170;   ///< thickness of the cover glass
    double tg0_um = 170;  ///< … the design expects
};

/// Below, k = 2π/λ, ρ in [0, 1] is the radius in the pupil, q(n) = √(n² − NA²ρ²), r the distance
/// from the axis, z how much thicker than designed the immersion layer is (the objective is
/// further away), and p the depth of the point source below the cover glass.
enum class PsfModel {
    /// h = exp(−r²/2σᵣ² − d²/2σ_z²) with σᵣ = √2/(k NA), σ_z = 2√6 nᵢ/(k NA²) and d = z: the
    /// paraxial fit of Zhang, Zerubia and Olivo-Marin, Appl. Opt. 46:1819 (2007).
    gaussian,
    /// h = |2 ∫ J₀(k NA r ρ) exp(i k z q(nᵢ)) ρ dρ|²: one medium, of index nᵢ. Born and Wolf,
    /// Principles of Optics, §8.8, with the exact defocus in place of its paraxial expansion
    /// q ≈ nᵢ − NA²ρ²/2nᵢ.
    born_wolf,
    /// h = |2 ∫₀ᵃ J₀(k NA r ρ) exp(i k OPD(ρ)) ρ dρ|² with a = min(1, nₛ/NA) and OPD = p q(nₛ) +
    /// (tᵢ₀ + z) q(nᵢ) − tᵢ₀ q(nᵢ₀) + t_g q(n_g) − t_g₀ q(n_g₀). Gibson and Lanni, J. Opt. Soc.
    /// Am. A 8:1601 (1991).
    gibson_lanni,
    /// A freely rotating dipole, h = |I₀|² + 2|I₁|² + |I₂|²: integrals over the pupil of
    /// √cosθᵢ exp(i k OPD) times (tₛ + t_p cosθₛ) J₀, t_p sinθₛ J₁ and (tₛ − t_p cosθₛ) J₂, where
    /// tₛ and t_p are Fresnel's coefficients from immersion through glass to sample. Waves that
    /// are evanescent in the sample (NAρ > nₛ) count: a near source sends light there. Richards
    /// and Wolf, Proc. R. Soc. A 253:358 (1959); Török and Varga, Appl. Opt. 36:2305 (1997).
    vectorial,
};

/// Whether the model looks through the layers of Objective: sample, cover glass and design matter.
CONVOLUME_API bool has_layers(PsfModel);

/// How light gets to the source and on to the detector. With h(λ) the model's intensities at
/// wavelength λ, all of them functions of r and z:
enum class Modality {
    /// h(wavelength): the whole sample is lit.
    widefield,
    /// h(excitation) times the mean of h(wavelength) over the pinhole: a disc about the point, of
    /// pinhole_au Airy units across in the sample, 1 AU = 1.22 λ/NA at the wavelength of emission.
    confocal,
    /// exp(−4 ln2 (z − f)²/w²) h(wavelength): a sheet with a Gaussian profile along z of full width
    /// w at half maximum, its middle at f, where h(wavelength) is brightest on the axis.
    light_sheet,
    /// h(excitation)²: two photons are absorbed at once, and all light that is emitted counts,
    /// wherever it comes out (no pinhole). Denk, Strickler and Webb, Science 248:73 (1990);
    /// Sheppard
    /// and Gu, Optik 86:104 (1990). The wavelength of emission plays no part.
    two_photon,
    /// h(wavelength) · Σ_M (h(excitation) ⊗ d ⊗ d)(r − M): a camera behind a spinning disc with
    /// pinholes d (discs of sum 1) on a square lattice of vectors M. Light reaches a point of the
    /// sample through the pinhole that goes by, and the camera through the same one: the
    /// autocorrelation of the pinhole, d ⊗ d (Conchello and Lichtman, Appl. Opt. 33:585, 1994).
    /// M ≠ 0 is light that comes through one pinhole and leaves by another, which makes the
    /// background of thick samples (Shimozawa et al., PNAS 110:3399, 2013): far from focus,
    /// h(wavelength) times ∫ h(excitation) over the area of a pinhole's cell. Pinholes are lit
    /// evenly and not coherently, and the lattice's directions are averaged.
    spinning_disc,
};

/// "gaussian", "born-wolf", "gibson-lanni", "vectorial"; "widefield", "confocal", "light-sheet",
/// "two-photon", "spinning-disc".
/// Parsers throw InvalidArgument that lists the choices.
CONVOLUME_API const char* to_string(PsfModel);
CONVOLUME_API const char* to_string(Modality);
CONVOLUME_API PsfModel parse_psf_model(std::string_view);
CONVOLUME_API Modality parse_modality(std::string_view);

struct PsfOptions {
    PsfModel model = PsfModel::vectorial;
    Modality modality = Modality::widefield;
    Objective objective;
    double wavelength_um = 0.52;  ///< of emission
    /// Wavelength; confocal, two_photon and spinning_disc demand it.
    std::optional<double> excitation_um;
    std::optional<double> pinhole_au;     ///< confocal only, 1 where not given
    std::optional<double> sheet_fwhm_um;  ///< w; light_sheet demands it
    /// Diameter of the pinholes and distance of their centers, on the disc: spinning_disc demands
    /// them. In the sample they are divided by disc_magnification.
    std::optional<double> disc_pinhole_um;
    std::optional<double> disc_spacing_um;
    std::optional<double> disc_magnification;  ///< between sample and disc; 1 where not given
    double depth_um = 0;                       ///< p; ignored by gaussian and born_wolf
    VoxelSize voxel;
    Shape3 size{65, 65, 65};  ///< odd on every axis
    /// Gauss–Legendre points per voxel and axis: values are means over the voxel. 1 takes the
    /// value at its center.
    int oversampling = 3;
    /// z of the middle plane; brightest_focus_um() where not given.
    std::optional<double> center_z_um;
    int threads = 0;  ///< as in EngineChoice
};

/// Intensities at `z_um` and the given distances from the axis, not normalized: 1 in the scalar
/// models is the peak of a perfect lens. Quadrature on ρ = (nₛ/NA) sin t takes the
/// square-root end point at the critical angle away, where the Bessel series of Li, Xue and Blu,
/// J. Opt. Soc. Am. A 34:1029 (2017), lose accuracy. Throws InvalidArgument or Cancelled.
CONVOLUME_API std::vector<double> psf_intensity(const PsfOptions& options, double z_um,
                                                const std::vector<double>& radii_um,
                                                const ExecutionContext& context = {});

/// The z where paraxial rays of the source meet: where terms in ρ² of the OPD cancel.
CONVOLUME_API double paraxial_focus_um(const PsfOptions& options);

/// The z of the brightest point on the axis, far from the paraxial focus for deep sources. Throws
/// InvalidArgument or Cancelled.
CONVOLUME_API double brightest_focus_um(const PsfOptions& options,
                                        const ExecutionContext& context = {});

struct Psf {
    Volume values;       ///< float32, sum 1, source in the middle voxel
    double center_z_um;  ///< z of the middle plane
    /// How much of each plane's light, of which some is infinitely far from the axis, is in the
    /// volume: a share of 1, at the z of the voxels' middles.
    std::vector<double> captured;
};

/// Planes of higher index look deeper into the sample: z falls by a voxel from plane to plane. The
/// result is the same, to the last bit, for any number of threads. Throws InvalidArgument,
/// OutOfMemory or Cancelled.
CONVOLUME_API Psf make_psf(const PsfOptions& options, const ExecutionContext& context = {});

struct PsfFacts {
    /// Of two_photon λ is the wavelength of excitation here, and Σ 1/λ below is 2/λ.
    double rayleigh_lateral_um;  ///< 0.61 λ/NA
    double rayleigh_axial_um;  ///< 2 nᵢ λ/NA², the first dark point on the axis of small apertures
    /// Full widths at half maximum of the model itself, with its modality, across the axis and
    /// along it, through the brightest point.
    double fwhm_lateral_um;
    double fwhm_axial_um;
    /// The largest voxels that lose nothing: 1/(4 NA Σ 1/λ) and 1/(2 (nᵢ − √(nᵢ² − NA²)) Σ 1/λ),
    /// summed over emission and, for confocal and spinning_disc, excitation. A light sheet adds its
    /// own frequencies along z, of which 1 % of the strongest is taken as the end.
    double nyquist_lateral_um;
    double nyquist_axial_um;
    double paraxial_focus_um;   ///< paraxial_focus_um()
    double brightest_focus_um;  ///< brightest_focus_um()
    double effective_na;        ///< min(NA, nₛ) where the model has a sample
    bool total_reflection;  ///< NA exceeds nₛ: steeper rays of far sources never leave the sample
    double pinhole_um;      ///< diameter in the sample of one; 0 where there is none
};

/// Throws InvalidArgument or Cancelled.
CONVOLUME_API PsfFacts psf_facts(const PsfOptions& options, const ExecutionContext& context = {});

/// The least odd size (of options.voxel, with the middle plane of make_psf() in its middle) that
/// holds `share`, between 0 and 1, of the light on the axis, ∫ h(0, z) dz, and in y and x, within a
/// disc, that share of each such plane's light. Throws Cancelled, and InvalidArgument, also for
/// what would take more than 4 GiB.
CONVOLUME_API Shape3 psf_size_for(const PsfOptions& options, double share,
                                  const ExecutionContext& context = {});

/// The size for restoring an image of z, y, x pixels with voxels options.voxel. A plane of the
/// image holds light of others as far away as the PSF's planes hold light: the result has the
/// planes with more than 5 % of the light of the middle one, at most 2 Z − 1, which is what
/// widefield PSFs get. y and x hold `share` of the light of each such plane, and are at most 2 Y −
/// 1 and 2 X − 1, as farther samples meet no pixel. Throws Cancelled, and InvalidArgument, also for
/// what would take more than 4 GiB.
CONVOLUME_API Shape3 psf_size_for_image(const PsfOptions& options, const Shape3& image,
                                        double share, const ExecutionContext& context = {});

struct ResampledKernel {
    Volume values;  ///< float64 where the kernel was, else float32
    Index3 center;  ///< the voxel whose middle is where the middle of the kernel's center was
};

/// Extents of what resample_kernel() makes. Throws InvalidArgument.
CONVOLUME_API Shape3 resampled_shape(const Shape3& kernel, const Index3& center,
                                     const VoxelSize& from, const VoxelSize& to);

/// Bytes that resample_kernel() takes at the most, its result included. Throws InvalidArgument.
CONVOLUME_API index_t resampling_bytes(const Shape3& kernel, PixelType type, const Index3& center,
                                       const VoxelSize& from, const VoxelSize& to);

/// What `kernel`, whose voxels are `from`, would be on voxels `to`, for real kernels. A sample is
/// what falls into its voxel: the result covers the kernel whole, and its sum is the same. Between
/// the edges of voxels the running sum is interpolated by a cubic spline (de Boor, A Practical
/// Guide to Splines, ch. IV), axis by axis; where the kernel has no negative sample, neither has
/// the result. `center` is an index of the kernel. Throws InvalidArgument or OutOfMemory.
CONVOLUME_API ResampledKernel resample_kernel(const ConstImageView& kernel, const Index3& center,
                                              const VoxelSize& from, const VoxelSize& to);

}  // namespace convolume
