// SPDX-License-Identifier: Apache-2.0
#pragma once
// Point spread functions (PSFs) of microscope objectives, properties that are known without
// computing a PSF, and resampling of kernels to other voxel sizes. Lengths are in µm, wavelengths
// are those in vacuum, and axes are z, y, x.

#include <optional>
#include <string_view>
#include <vector>

#include "convolume/execution.hpp"
#include "convolume/export.hpp"
#include "convolume/shape.hpp"
#include "convolume/stage_scan.hpp"
#include "convolume/volume.hpp"

namespace convolume {

/// An objective, and the layers between it and the source: actual values and those of its design.
/// @code{.cpp}
/// Objective water;
/// water.na = 1.2;
/// water.ni = water.ni0 = 1.33;
/// PsfOptions options;
/// options.objective = water;
/// @endcode
struct Objective {
    double na = 1.4;     ///< numerical aperture NA
    double ni = 1.515;   ///< refractive index nᵢ of the immersion medium
    double ni0 = 1.515;  ///< refractive index nᵢ₀ of the immersion medium by design
    double ng = 1.515;   ///< refractive index n_g of the cover glass
    double ng0 = 1.515;  ///< refractive index n_g₀ of the cover glass by design
    /// Refractive index nₛ of the sample; NA may exceed it. By default that of
    /// sample_index_for(ni).
    double ns = 1.515;
    double ti0_um = 150;  ///< thickness tᵢ₀ of the immersion layer by design
    double tg_um = 170;   ///< thickness t_g of the cover glass
    double tg0_um = 170;  ///< thickness t_g₀ of the cover glass by design
};

/// Returns the index of the sample that the command and the Python package take for an immersion
/// medium: the medium's own for glycerol and oil, with which mounted specimens are recorded, and
/// that of water for others.
CONVOLUME_API double sample_index_for(double ni);
/// Returns the index of a mounting medium: "prolong" (Gold and Diamond, cured), "prolong-glass",
/// "vectashield", "glycerol" or "water", at 23 °C as their makers give it. Throws InvalidArgument,
/// which lists these, for others.
/// @code{.cpp}
/// Objective lens;
/// lens.ns = index_of_mountant("prolong");
/// assert(lens.ns == 1.47);
/// @endcode
CONVOLUME_API double index_of_mountant(std::string_view name);

/// Model of the intensity h(r, z) at the distance r from the axis. The thickness of the immersion
/// layer beyond that of the design is z, so that z > 0 if the objective is farther away. The depth
/// of the point source below the cover glass is p. The radius in the pupil is ρ in [0, 1]. In the
/// formulas,
///
///     k = 2π/λ,  q(n) = √(n² − NA²ρ²)
enum class PsfModel {
    /// A Gaussian in r and z, the paraxial fit of Zhang, Zerubia and Olivo-Marin, Appl. Opt.
    /// 46:1819 (2007):
    ///
    ///     h  = exp(−r²/2σᵣ² − z²/2σ_z²)
    ///     σᵣ = √2/(k NA),  σ_z = 2√6 nᵢ/(k NA²)
    gaussian,
    /// Scalar diffraction in one medium of index nᵢ:
    ///
    ///     h = |2 ∫₀¹ J₀(k NA r ρ) exp(i k z q(nᵢ)) ρ dρ|²
    ///
    /// Born and Wolf, Principles of Optics, §8.8. The defocus is exact, in place of the paraxial
    /// expansion q ≈ nᵢ − NA²ρ²/2nᵢ of the book.
    born_wolf,
    /// Scalar diffraction through the layers of Objective, whose optical path difference is OPD:
    ///
    ///     h   = |2 ∫₀ᵃ J₀(k NA r ρ) exp(i k OPD(ρ)) ρ dρ|²,  a = min(1, n/NA)
    ///     OPD = p q(nₛ) + (tᵢ₀ + z) q(nᵢ) − tᵢ₀ q(nᵢ₀) + t_g q(n_g) − t_g₀ q(n_g₀)
    ///
    /// n is the lowest of nₛ, n_g and nᵢ. Gibson and Lanni, J. Opt. Soc. Am. A 8:1601 (1991).
    gibson_lanni,
    /// Vectorial diffraction of the light of a freely rotating dipole through the layers:
    ///
    ///     h  = |I₀|² + 2|I₁|² + |I₂|²
    ///     I₀ = ∫ (tₛ + t_p cosθₛ) J₀(k NA r ρ) dW
    ///     I₁ = ∫ t_p sinθₛ J₁(k NA r ρ) dW
    ///     I₂ = ∫ (tₛ − t_p cosθₛ) J₂(k NA r ρ) dW
    ///     dW = √cosθᵢ exp(i k OPD(ρ)) sinθᵢ dθᵢ
    ///
    /// The integrals are over the pupil, where NAρ = nᵢ sinθᵢ = nₛ sinθₛ. tₛ and t_p are Fresnel's
    /// coefficients from immersion through glass to sample. Waves that are evanescent in the sample
    /// (NAρ > nₛ) count, since a source near the glass emits into them. Richards and Wolf, Proc. R.
    /// Soc. A 253:358 (1959); Török and Varga, Appl. Opt. 36:2305 (1997).
    vectorial,
};

/// Returns whether the model has the layers of Objective: sample, cover glass and immersion.
CONVOLUME_API bool has_layers(PsfModel);

/// Modality of the microscope: how light gets to the source and to the detector. It gives the PSF
/// as a function of r and z. In the formulas, h(λ) are the intensities of the PsfModel at
/// wavelength λ. The wavelength of emission is em, and that of excitation is ex.
enum class Modality {
    /// The whole sample is lit:
    ///
    ///     PSF = h(em)
    widefield,
    /// A laser scans the sample, and a pinhole lets light to the detector:
    ///
    ///     PSF = h(ex) · mean of h(em) over the pinhole
    ///
    /// The pinhole is a disc around the point, whose diameter in the sample is pinhole_au Airy
    /// units of 1.22 em/NA.
    confocal,
    /// A sheet of light with a Gaussian profile along z, of full width w at half maximum:
    ///
    ///     PSF = exp(−4 ln2 (z − f)²/w²) h(em)
    ///
    /// Its middle f is at the brightest point of h(em) on the axis.
    light_sheet,
    /// A molecule absorbs two photons at once, and all emitted light counts (no pinhole):
    ///
    ///     PSF = h(ex)²
    ///
    /// The wavelength of emission has no influence. Denk, Strickler and Webb, Science 248:73
    /// (1990); Sheppard and Gu, Optik 86:104 (1990).
    two_photon,
    /// A camera behind a spinning disc with pinholes d (discs of sum 1), on a square lattice of
    /// vectors M:
    ///
    ///     PSF = h(em) · Σ_M (h(ex) ⊗ d ⊗ d)(r − M)
    ///
    /// Light passes the same pinhole on its way to the sample and to the camera, which gives the
    /// autocorrelation of the pinhole, d ⊗ d: Conchello and Lichtman, Appl. Opt. 33:585 (1994). The
    /// terms M ≠ 0 are light that returns through another pinhole, the background of thick samples:
    /// Shimozawa et al., PNAS 110:3399 (2013). Far from focus, the PSF is h(em) times ∫ h(ex) over
    /// the area of a pinhole's cell. Pinholes are lit evenly and incoherently, and the PSF is
    /// averaged over the lattice's directions.
    spinning_disc,
};

/// Returns "gaussian", "born-wolf", "gibson-lanni" or "vectorial".
CONVOLUME_API const char* to_string(PsfModel);
/// Returns "widefield", "confocal", "light-sheet", "two-photon" or "spinning-disc".
CONVOLUME_API const char* to_string(Modality);
/// Parses a name of a PsfModel. Throws InvalidArgument, which lists the names, for others.
CONVOLUME_API PsfModel parse_psf_model(std::string_view);
/// Parses a name of a Modality. Throws InvalidArgument, which lists the names, for others.
CONVOLUME_API Modality parse_modality(std::string_view);

/// Options of make_psf() and the other functions below.
/// @code{.cpp}
/// PsfOptions options;
/// options.modality = Modality::confocal;
/// options.excitation_um = 0.488;
/// options.pinhole_au = 1;
/// options.voxel = {0.2, 0.065, 0.065};
/// options.size = {33, 65, 65};
/// @endcode
struct PsfOptions {
    PsfModel model = PsfModel::vectorial;
    Modality modality = Modality::widefield;
    Objective objective;
    double wavelength_um = 0.52;  ///< wavelength of emission
    /// Wavelength of excitation. confocal, two_photon and spinning_disc require it.
    std::optional<double> excitation_um;
    std::optional<double> pinhole_au;     ///< pinhole of confocal in Airy units; 1 if not given
    std::optional<double> sheet_fwhm_um;  ///< width w of the sheet; light_sheet requires it
    /// Diameter of the pinholes on the disc. spinning_disc requires it. In the sample, it is
    /// divided by disc_magnification.
    std::optional<double> disc_pinhole_um;
    /// Distance between centers of pinholes on the disc. spinning_disc requires it.
    std::optional<double> disc_spacing_um;
    std::optional<double>
        disc_magnification;   ///< magnification from sample to disc; 1 if not given
    double depth_um = 0;      ///< depth p of the source; ignored by gaussian and born_wolf
    VoxelSize voxel;          ///< voxel of the PSF
    Shape3 size{65, 65, 65};  ///< extents of the PSF in voxels, odd on every axis
    /// Number of Gauss–Legendre points per voxel and axis. Values are means over the voxel; with 1
    /// they are those at its center.
    int oversampling = 3;
    /// z of the middle plane. If not given, brightest_focus_um().
    std::optional<double> center_z_um;
    int threads = 0;  ///< number of threads, as EngineChoice::threads
    /// Angle of a stage scan (StageScan::angle_deg). If given, the PSF has the skewed voxels that
    /// the scan records: voxel.z_um is the step of the stage.
    std::optional<double> scan_angle_deg;
    ShearAxis scan_axis = ShearAxis::y;  ///< StageScan::axis
    bool scan_opposite = false;          ///< StageScan::opposite

    /// Returns the scan of a skewed PSF.
    std::optional<StageScan> scan() const {
        if (!scan_angle_deg) return {};
        return StageScan{*scan_angle_deg, voxel.z_um, voxel.y_um,
                         voxel.x_um,      scan_axis,  scan_opposite};
    }
    /// Returns the distance of planes along the optical axis.
    double plane_distance_um() const { return scan() ? scan()->plane_distance_um() : voxel.z_um; }
};

/// Returns the intensities at `z_um` and the given distances from the axis. They are not
/// normalized: in the scalar models, 1 is the peak of a perfect lens. Throws InvalidArgument or
/// Cancelled.
///
/// The quadrature is over t in ρ = (n/NA) sin t, with the lowest index n of the layers. This
/// removes the square-root singularity at the critical angle. There, the Bessel series of Li, Xue
/// and Blu, J. Opt. Soc. Am. A 34:1029 (2017), lose accuracy.
/// @code{.cpp}
/// PsfOptions options;
/// options.model = PsfModel::born_wolf;
/// const std::vector<double> airy = psf_intensity(options, 0, {0, 0.1, 0.2});
/// assert(std::abs(airy[0] - 1) < 1e-6 && airy[1] < airy[0]);
/// @endcode
CONVOLUME_API std::vector<double> psf_intensity(const PsfOptions& options, double z_um,
                                                const std::vector<double>& radii_um,
                                                const ExecutionContext& context = {});

/// Returns the z at which paraxial rays of the source meet: terms in ρ² of the OPD cancel there.
CONVOLUME_API double paraxial_focus_um(const PsfOptions& options);

/// Returns the z of the brightest point on the axis. For deep sources it is far from the paraxial
/// focus. Throws InvalidArgument or Cancelled.
CONVOLUME_API double brightest_focus_um(const PsfOptions& options,
                                        const ExecutionContext& context = {});

/// A computed PSF.
struct Psf {
    Volume values;       ///< float32, sum 1, source in the middle voxel
    double center_z_um;  ///< z of the middle plane
    /// Share of each plane's light that is inside the volume, at the z of the voxels' centers. The
    /// rest is farther from the axis. Skewed PSFs contain at least this share.
    std::vector<double> captured;
};

/// Computes a PSF. Planes of higher index look deeper into the sample: z decreases by
/// plane_distance_um() from plane to plane. Those of a skewed PSF are sampled where the scan
/// records them: plane k of the middle one on is displaced by −k · StageScan::shear_px(). The
/// result is the same to the last bit for any number of threads. Throws InvalidArgument,
/// OutOfMemory or Cancelled.
/// @code{.cpp}
/// PsfOptions options;
/// options.model = PsfModel::gibson_lanni;
/// options.size = {17, 33, 33};
/// options.depth_um = 5;
/// const Psf psf = make_psf(options);
/// assert(psf.values.shape() == options.size);
/// @endcode
CONVOLUME_API Psf make_psf(const PsfOptions& options, const ExecutionContext& context = {});

/// Properties of a PSF. λ is the wavelength of emission; for two_photon it is that of excitation.
struct PsfFacts {
    double rayleigh_lateral_um;  ///< 0.61 λ/NA, the first dark ring of small apertures
    double rayleigh_axial_um;  ///< 2 nᵢ λ/NA², the first dark point on the axis of small apertures
    /// Full width at half maximum across the axis, through the brightest point, of the model with
    /// its modality.
    double fwhm_lateral_um;
    /// Full width at half maximum along the axis.
    double fwhm_axial_um;
    /// Largest voxel across the axis that loses no frequencies:
    ///
    ///     1/(4 NA Σ 1/λ)
    ///
    /// The sum is over emission and, for confocal and spinning_disc, excitation. For two_photon it
    /// is 2/λ.
    double nyquist_lateral_um;
    /// Largest voxel along the axis that loses no frequencies, with the same sum:
    ///
    ///     1/(2 (nᵢ − √(nᵢ² − NA²)) Σ 1/λ)
    ///
    /// A light sheet adds its own frequencies along z, up to that with 1 % of the strongest.
    double nyquist_axial_um;
    double paraxial_focus_um;   ///< result of paraxial_focus_um()
    double brightest_focus_um;  ///< result of brightest_focus_um()
    double effective_na;        ///< min(NA, nₛ) if the model has a sample, else NA
    /// Whether NA exceeds nₛ. Steeper rays of sources far from the glass then never leave the
    /// sample.
    bool total_reflection;
    double pinhole_um;  ///< diameter of a pinhole in the sample; 0 if there is none
};

/// Computes properties of a PSF without its volume. Throws InvalidArgument or Cancelled.
/// @code{.cpp}
/// const PsfFacts facts = psf_facts(PsfOptions{});
/// std::cout << "voxels up to " << facts.nyquist_lateral_um << " um across the axis\n";
/// @endcode
CONVOLUME_API PsfFacts psf_facts(const PsfOptions& options, const ExecutionContext& context = {});

/// Returns the least odd size, in voxels options.voxel, that holds `share` (between 0 and 1) of the
/// light. Along z it holds that share of the light on the axis, ∫ h(0, z) dz. In y and x it holds
/// that share of the light of each of these planes, within a disc. The middle plane is that of
/// make_psf(). Throws InvalidArgument, also if the PSF would take more than 4 GiB, or Cancelled.
/// @code{.cpp}
/// PsfOptions options;
/// options.size = psf_size_for(options, 0.9);
/// assert(options.size.z % 2 == 1);
/// @endcode
CONVOLUME_API Shape3 psf_size_for(const PsfOptions& options, double share,
                                  const ExecutionContext& context = {});

/// Returns the size of a PSF for the deconvolution of an image of shape `image` (Z, Y, X), in
/// voxels options.voxel. Along z it has the planes with more than 5 % of the light of the middle
/// plane, at most 2Z − 1. Widefield PSFs reach that limit. In y and x it holds `share` of the light
/// of each of these planes. It is at most 2Y − 1 and 2X − 1, since farther samples meet no pixel.
/// Throws InvalidArgument, also if the PSF would take more than 4 GiB, or Cancelled.
CONVOLUME_API Shape3 psf_size_for_image(const PsfOptions& options, const Shape3& image,
                                        double share, const ExecutionContext& context = {});

/// A kernel on another grid.
struct ResampledKernel {
    Volume values;  ///< float64 if the kernel was float64, else float32
    Index3 center;  ///< index of the center, whose position in space is unchanged
};

/// Returns the extents of the result of resample_kernel(). Throws InvalidArgument.
CONVOLUME_API Shape3 resampled_shape(const Shape3& kernel, const Index3& center,
                                     const VoxelSize& from, const VoxelSize& to);

/// Returns the most bytes that resample_kernel() takes, its result included. Throws
/// InvalidArgument.
CONVOLUME_API index_t resampling_bytes(const Shape3& kernel, PixelType type, const Index3& center,
                                       const VoxelSize& from, const VoxelSize& to);

/// Resamples a real kernel (z, y, x) from voxels `from` to voxels `to`. `center` is the index of
/// the kernel's center. A sample is the integral over its voxel, so that the result covers the
/// whole kernel and has the same sum. Axis by axis, a cubic spline interpolates the running sum
/// between the edges of voxels: de Boor, A Practical Guide to Splines, ch. IV. If the kernel has no
/// negative sample, the result has none. Throws InvalidArgument or OutOfMemory.
/// @code{.cpp}
/// PsfOptions options;
/// options.size = {9, 9, 9};
/// const Psf psf = make_psf(options);
/// const VoxelSize coarse{0.4, 0.13, 0.13};
/// const ResampledKernel half =
///     resample_kernel(psf.values.view(), {4, 4, 4}, options.voxel, coarse);
/// assert(half.values.shape() == resampled_shape({9, 9, 9}, {4, 4, 4}, options.voxel, coarse));
/// @endcode
CONVOLUME_API ResampledKernel resample_kernel(const ConstImageView& kernel, const Index3& center,
                                              const VoxelSize& from, const VoxelSize& to);

}  // namespace convolume
