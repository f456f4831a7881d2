// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options of deconvolutions. The object x, the recorded image y, the blur A, its adjoint Aᵀ, and
// the background b are those of deconvolver.hpp.

#include <cstdint>
#include <optional>
#include <string_view>

#include "convolume/export.hpp"
#include "convolume/options.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// Method of deconvolution. 1 is an image of ones; products and quotients are sample by sample.
/// parse_deconvolve_method() also gives values of methods that have no enumerator here.
enum class DeconvolveMethod {
    /// "rl": the most probable object under Poisson noise, by the iteration
    ///
    ///     x ← x / (Aᵀ1) · Aᵀ(y / (A x + b))
    ///
    /// Richardson, J. Opt. Soc. Am. 62:55 (1972); Lucy, Astron. J. 79:745 (1974).
    richardson_lucy,
    /// "rl-tv": richardson_lucy with a penalty on the total variation (TV), which keeps edges and
    /// suppresses noise:
    ///
    ///     x ← x / (Aᵀ1 + w √(Aᵀ1) ∂TV(x)) · Aᵀ(y / (A x + b))
    ///     TV(x) = Σ √(|∇x|² + ε²)
    ///
    /// The gradient ∇ is made of forward differences, w is `tv_weight`, and ε is 40 w, or at least
    /// 0.001, of the image's mean above the background. Steps in flat regions then do not
    /// overshoot. The root is 1 but near the edges: it does the same for voxels that the image
    /// hardly sees. The divisor is at least a tenth of Aᵀ1. Dey et al., Microsc. Res. Tech. 69:260
    /// (2006).
    richardson_lucy_tv,
    /// "shb", the scaled heavy ball: steps of richardson_lucy from an extrapolated point p,
    ///
    ///     p = xₖ + αₖ (xₖ − xₖ₋₁),  αₖ = (k − 1) / (k + 2)
    ///     xₖ₊₁ = p / (Aᵀ1) · Aᵀ(y / (A p + b))
    ///
    /// Wang and Miller, IEEE Trans. Image Process. 23:848 (2014), eq. 7 and 10. It needs no search
    /// for a step length. The misfit of xₖ approaches its minimum as 1 / k², that of
    /// richardson_lucy as 1 / k. The point p is at least a tenth of xₖ, so that no voxel becomes 0
    /// for good.
    scaled_heavy_ball,
    /// "wb": first `unmatched` steps with a back projector B that is nearly an inverse of A,
    ///
    ///     x ← x · max(1/10, 1 + B(y / (A x + b) − 1))
    ///
    /// then steps of richardson_lucy. B is a Wiener filter, with `noise_to_signal`, times a
    /// Butterworth filter that ends at the resolution limit. Guo et al., Nat. Biotechnol. 38:1337
    /// (2020). Outside the image the quotient is taken to be 1. Unmatched steps are fast, but may
    /// lower the likelihood: 1 to 3 are usual.
    wiener_butterworth,
    /// "rlgc", Richardson–Lucy gradient consensus: each step divides the photons at random into two
    /// halves, which give the corrections c₁ and c₂. A voxel takes the step only if the halves
    /// agree in its neighborhood:
    ///
    ///     Aᵀ A((c₁ − 1)(c₂ − 1)) ≥ 0
    ///
    /// Manton and York, doi 10.5281/zenodo.10278919 (2023). Iterations end when hardly more voxels
    /// agree than by chance, see `consensus`.
    gradient_consensus,
    /// "nnls": least squares over x ≥ 0, for bright images with additive noise. Accelerated
    /// projected gradients with restarts step from an extrapolated point p:
    ///
    ///     x ← max(0, p − Aᵀ(A p + b − y) / Aᵀ1)
    ///
    /// Beck and Teboulle, SIAM J. Imaging Sci. 2:183 (2009).
    non_negative_least_squares,
    /// "wiener": linear least squares with a penalty K, which is `noise_to_signal`. Conjugate
    /// gradients (Hestenes and Stiefel, J. Res. Natl. Bur. Stand. 49:409, 1952) solve
    ///
    ///     (AᵀA + K) x = Aᵀ(y − b)
    ///
    /// With a wrap boundary this is Wiener's filter for white noise.
    wiener,
    /// "map", maximum a posteriori: the most probable object under Poisson noise and a prior by
    /// which neighboring voxels i, j are alike, Good's roughness. It minimizes
    ///
    ///     Φ(x) = Σ [m − y + y log(y / m)] + w Σ s² (√xᵢ − √xⱼ)²,  m = A x + b
    ///
    /// w is `roughness`, and s the smallest edge of a voxel divided by the edge along the axis of
    /// the two neighbors. Good and Gaskins, Biometrika 58:255 (1971); in microscopy Verveer and
    /// Jovin, J. Opt. Soc. Am. A 14:1696 (1997). Φ is convex. Each step lowers it, by De Pierro's
    /// separable bound, IEEE Trans. Med. Imaging 14:132 (1995). With p the starting point,
    /// c = Aᵀ(y / (A p + b)), and W = w Σ s² and S = w Σ s² (√pᵢ + √pⱼ) over the neighbors of a
    /// voxel:
    ///
    ///     √x ← (S + √(S² + 4 (Aᵀ1 + 2 W) p c)) / (2 (Aᵀ1 + 2 W))
    ///
    /// Iterations end by a residual (`stop`): the object does not depend on their number.
    maximum_a_posteriori,
};

/// Acceleration of iterations by extrapolation.
enum class Acceleration {
    none,
    /// Extrapolation along the last two steps: Biggs and Andrews, Appl. Opt. 36:1766 (1997), eq.
    /// 10. A step is not extrapolated if that would make the estimate less probable. Steps of rl-tv
    /// are extrapolated as those of shb instead: the slope of a total variation changes its sign
    /// from step to step in flat regions, so that the last two steps do not tell how far to go.
    /// Steps of map are extrapolated as those of nnls.
    biggs_andrews,
};

/// How the views of an object change its estimate (ViewDeconvolver).
enum class ViewUpdates {
    simultaneous,  ///< all views at once, by the mean of their corrections
    /// One view after the other in each iteration, as ordered subsets: H. M. Hudson and R. S.
    /// Larkin, IEEE Trans. Med. Imaging 13:601 (1994). Each view v makes the step
    ///
    ///     x ← x / (A_vᵀ w_v) · A_vᵀ(w_v y_v / (A_v x + b_v))
    ///
    /// where it sees light, and leaves other voxels as they are. With N views, an iteration is
    /// about as far as N simultaneous ones. Steps end near the most probable object, not at it: in
    /// noise, each view pulls the estimate to itself.
    sequential,
    /// As sequential, with back projectors that hold what other views say: S. Preibisch et al.,
    /// Nat. Methods 11:645 (2014). In place of the mirrored PSF P_v*, a view is projected back by
    ///
    ///     P_v* · Π_w (P_v* ∗ P_w ∗ P_w*)
    ///
    /// of sum 1, with the PSFs of all other views w, brought to the voxels of v. It takes few
    /// iterations, whose result is not that of the likelihood.
    efficient,
};

/// Options of Deconvolver and DeviceDeconvolver. Each comment names the methods that use the
/// option, if not all do.
/// @code{.cpp}
/// DeconvolveOptions options;
/// options.method = parse_deconvolve_method("rl-tv");
/// options.iterations = 50;
/// options.boundary = parse_edges("extend");
/// options.background = std::nullopt;  // estimated from each image
/// options.saturation = 65535;
/// @endcode
struct DeconvolveOptions {
    DeconvolveMethod method = DeconvolveMethod::richardson_lucy;
    /// Number of iterations. If not given, and `stop` is not either, a search finds it for the
    /// methods that offer coarse_start, as with `hold_out`; else it is 30, for wb `unmatched`, and
    /// for map, which ends by its residual, 300.
    std::optional<int> iterations;
    /// Acceleration, for all methods but shb, nnls and wiener.
    Acceleration acceleration = Acceleration::biggs_andrews;
    /// For rl in ViewDeconvolver, not in Deconvolver. Other updates than simultaneous ones are not
    /// accelerated.
    ViewUpdates view_updates = ViewUpdates::simultaneous;
    /// Continuation of the object outside the image. If not given, edges `extend`: the object
    /// itself reaches beyond the image. BoundaryKind::constant is refused.
    std::optional<Boundary> boundary;
    KernelCenter center{};  ///< index of the PSF's sample that shifts nothing
    /// Background b, which includes the offset. If it is not given, it is estimated from each
    /// image: the level that most pixels are near. If no region of the image is dark, or if the PSF
    /// lays haze over all of it, photons that coarse restorations do not know tell it. Of nnls,
    /// wiener and small images without a dark region it is 0.
    std::optional<double> background;
    /// The background rises evenly over y and x. If it is set, `background` is not, which is then
    /// the mean over the image. Each execution fits a plane over y and x to the levels of
    /// overlapping regions, without those that have no dark pixels, and subtracts the plane, less
    /// its mean, from the image. Noise stays that of the recorded light, while the model
    ///
    ///     A x + b
    ///
    /// expects that of the mean background. For images in host memory of at least 64 pixels along y
    /// and x, and PSFs that spread less than a tenth of their light beyond 16 pixels along y or x:
    /// haze varies as slowly as a background.
    bool has_varying_background = false;
    /// Pixels of at least this value are saturated: lower bounds, which more light does not
    /// contradict. They enter no estimate. float32 pixels of the value missing_pixel are left out.
    /// For all methods but nnls and wiener.
    std::optional<double> saturation;
    /// Whether each execution gives the weights of pixels, DeconvolveRun::pixel_weights. Iterations
    /// then work on whole arrays, with one more of the image's extents, and coarse_start is 0. For
    /// all methods but rlgc, nnls and wiener, and images in host memory.
    bool has_pixel_weights = false;
    /// Weight w of the penalty of rl-tv. If it is not given, it is as large as the noise of a
    /// correction where the object is bright, seen from the noise of each image:
    ///
    ///     w = √(Σ h² / N)
    ///
    /// h is the PSF (sum 1), and N the mean number of photons s above the background, weighted by
    /// s. It is 0 if the image has nothing above the background.
    std::optional<double> tv_weight;
    /// Weight w of the roughness of map. A larger one makes the object smoother. If it is not
    /// given, Deconvolver divides the photons of the image's brightest part at random into two
    /// halves. It restores one half with so small a weight that it predicts the other half no
    /// better than a larger one. Then it finds the weight with which the other half's estimate is
    /// nearest to that, and takes half of it: all photons have half the relative variance. The
    /// whole takes two to three times as long as the iterations on the image alone.
    /// DeviceDeconvolver, PSFs that vary with depth, and images whose neighboring pixels share
    /// their noise take w = 1 / N, with N as for tv_weight: the prior then expects √x of bright
    /// neighbors to differ by about as much as it is. It is 0 without light above the background.
    std::optional<double> roughness;
    VoxelSize voxel{1, 1, 1};       ///< distances of voxels for the gradient of rl-tv and map
    double noise_to_signal = 0.01;  ///< penalty K of wiener and of wb's filter, for a PSF of sum 1
    /// Share of the voxels, for rlgc. Iterations end after five steps in a row that a smaller share
    /// of the voxels took. By chance half of the voxels agree.
    double consensus = 0.55;
    int unmatched = 2;  ///< number of steps of wb with its back projector B
    /// Ends before `iterations` when an iteration lowers the misfit by less than this fraction. For
    /// wiener and map, ends when the residual is at most this value (Iteration::residual). If not
    /// given, `iterations` are done; for wiener it is then 0.001, for map 0.0002.
    std::optional<double> stop;
    /// A search finds the number of iterations, which is at most `iterations`, or 200 if these are
    /// not given. Deconvolver divides the photons of the image's brightest part at random into two
    /// halves. It restores one half by 80 iterations, and more if the number turns out to be near
    /// 80 and the model fits. It finds after how many iterations the other half's estimate is
    /// nearest to that. The whole image then takes 25 to 65 % more, the more the wider the PSF's
    /// haze. A single plane has 25 iterations in place of 80, and takes the number of the halves.
    /// DeviceDeconvolver sets one photon in eight apart, and takes the number after which the
    /// others predict these best. For all methods but nnls, wiener and map, and not together with
    /// `stop`.
    bool hold_out = false;
    /// Photons for each unit of the image, by which photons are drawn, for hold_out, splits and
    /// rlgc, for the weight of map, and counted for the weight of rl-tv. Whole photons are drawn
    /// one by one; the remaining fraction of a value is divided in proportion. If not given, it is
    /// estimated from each image's noise. It is 1 if the noise does not grow with brightness.
    std::optional<double> gain;
    /// Value of a pixel without light, which the camera adds and which has no photon noise. Methods
    /// compare what is above it: y − offset with A x + b − offset. It is at most the background b,
    /// which includes it. If not given, it is estimated from each image's noise: the value at which
    /// the noise of photons vanishes. Noise of the readout makes it smaller than the camera's. If
    /// the noise does not tell it, it is 0, or -(g - 1/g) / 12 for g > 1 photons for each unit of
    /// an image of integers, whose rounding is noise, too. It makes no difference to nnls and
    /// wiener.
    std::optional<double> offset;
    /// Read noise of the camera in photoelectrons, its standard deviation σ, for a given offset:
    /// the methods then take offset − σ² / gain in its place. A model of photons alone gives pixels
    /// without light that noise, as Snyder et al. do (J. Opt. Soc. Am. A 12:272, 1995). An offset
    /// that is estimated from the noise contains it already.
    double read_noise = 0;
    /// Number of iterations on each of one or two coarser images, before the `iterations`; 0: none.
    /// Pixels of a coarser image are sums of two along each axis that is long enough and that the
    /// PSF blurs enough. Only the coarsest image sums along z, unless neither y nor x can be
    /// summed. The interpolated estimate starts the `iterations`, which reach the same object
    /// sooner. For rl, rl-tv and shb. It has no effect if DeconvolveRun::start is given.
    ///
    /// With hold_out, it is the largest number: that of each coarser image is found as that of the
    /// iterations on the image. It is at most usual_coarse_start if the PSF spreads less than a
    /// tenth of its light beyond 16 pixels along y or x, or if there are PSFs of several depths,
    /// for which it is not searched. If not given, it is most_coarse_start with hold_out and images
    /// of several planes, else 0: single planes lose by it.
    std::optional<int> coarse_start;
    /// Number of random divisions of the photons into halves, from 2 to 64, from which an execution
    /// estimates DeconvolveRun::uncertainty; 0: it does not. For images in host memory.
    int splits = 0;
    std::uint64_t seed = 1;  ///< seed of these divisions
    /// Limit of host memory as Options::max_host_bytes, including the arrays of the deconvolution.
    std::optional<index_t> max_host_bytes;
    /// Type of all images, if it is known. GPUs then keep images of uint8 and uint16 in 16 bits,
    /// unless hold_out, saturation or splits are used. Images of types that do not fit are refused.
    /// If not given, images have any type and are kept as float32.
    std::optional<PixelType> image_type;
    /// The image is read from an ImageSource, and the result written to an ImageSink. The plan then
    /// counts memory for some of their planes only.
    bool streamed = false;
};

/// Return the names on the command line, such as "rl-tv", "biggs-andrews" and "sequential".
CONVOLUME_API const char* to_string(DeconvolveMethod);
CONVOLUME_API const char* to_string(Acceleration);
CONVOLUME_API const char* to_string(ViewUpdates);
/// Returns whether a method uses an option, which has its name in DeconvolveOptions. Further names
/// are "start" (DeconvolveRun::start), and "mask", "no_data", "hot_pixels" and "nan" for the pixels
/// that are left out.
CONVOLUME_API bool uses_option(DeconvolveMethod, std::string_view option);
/// Throws InvalidArgument if the method does not use the option.
CONVOLUME_API void require_option(DeconvolveMethod, std::string_view option);
/// Throws InvalidArgument if an option that the caller gave, maybe with its default, is not used by
/// the method of `options`, or is an acceleration of updates of views that are not accelerated.
/// Acceleration::none fits all updates.
CONVOLUME_API void require_option(const DeconvolveOptions& options, std::string_view option);
/// Returns whether something needs DeconvolveOptions::gain.
CONVOLUME_API bool uses_gain(const DeconvolveOptions&);
/// Returns the options with values for `hold_out`, `iterations` and `coarse_start` if they are left
/// open, as Deconvolver takes them for images with this number of planes.
CONVOLUME_API DeconvolveOptions resolved(const DeconvolveOptions&, index_t planes);
/// The usual number of DeconvolveOptions::coarse_start, and the usual largest number with
/// DeconvolveOptions::hold_out.
inline constexpr int usual_coarse_start = 20, most_coarse_start = 100;
/// The number of iterations of a search in an image whose neighboring pixels share their noise.
inline constexpr int filtered_iterations = 10;
/// The usual number of DeconvolveOptions::splits.
inline constexpr int usual_splits = 8;
/// Returns whether iterations report Iteration::likelihood. Otherwise they report a residual.
CONVOLUME_API bool has_likelihood(DeconvolveMethod);
/// Parse names that to_string() returns. Throw InvalidArgument, which lists these, for others.
CONVOLUME_API DeconvolveMethod parse_deconvolve_method(std::string_view);
CONVOLUME_API Acceleration parse_acceleration(std::string_view);
CONVOLUME_API ViewUpdates parse_view_updates(std::string_view);
/// Parses the value of DeconvolveOptions::boundary: "extend", which gives none, or the name of a
/// BoundaryKind other than constant. Throws InvalidArgument, which lists these, for others.
CONVOLUME_API std::optional<Boundary> parse_edges(std::string_view);

}  // namespace convolume
