// SPDX-License-Identifier: Apache-2.0
#pragma once
// Deconvolution: estimates the object x from a recorded image
//
//     y = A x + b
//
// A blurs with a known point spread function (PSF), Aᵀ is its adjoint, and b is a constant
// background. Axes are z, y, x.
//
// The object may reach beyond the image. With edges `extend` it is estimated as far outside as the
// PSF carries light into the image: A is then a convolution of mode valid. Objects just outside do
// then not ring. Bertero and Boccacci, Astronomy & Astrophysics 437:369 (2005). Otherwise the
// object has the image's extents and is continued outside by a boundary. Voxels that send less than
// 1 % of their light into the image (Aᵀ1) stay 0: the image says nothing about them.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/convolver.hpp"
#include "convolume/export.hpp"
#include "convolume/image_stream.hpp"

namespace convolume {

/// Method of deconvolution. 1 is an image of ones; products and quotients are sample by sample.
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

/// Scale from a pixel's value to photons:
///
///     photons = gain (value − offset)
struct PhotonScale {
    double gain = 1;
    double offset = 0;
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
    /// and x, and PSFs that spread less than a fifth of their light beyond 16 pixels along y or x:
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
    /// fifth of its light beyond 16 pixels along y or x, or if there are PSFs of several depths,
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

/// The PSF of one depth, for a PSF that varies with depth.
struct DepthPsf {
    ConstImageView psf;
    /// Distance along z from the image's first plane, whose planes are DeconvolveOptions::voxel
    /// apart.
    double depth_um = 0;
    std::optional<KernelCenter> center;  ///< if not given, DeconvolveOptions::center
};

/// Returns the name on the command line: "rl", "rl-tv", "shb", "wb", "rlgc", "nnls",
/// "wiener" or "map".
CONVOLUME_API const char* to_string(DeconvolveMethod);
/// Returns "none" or "biggs-andrews".
CONVOLUME_API const char* to_string(Acceleration);
/// Returns "simultaneous", "sequential" or "efficient".
CONVOLUME_API const char* to_string(ViewUpdates);
/// Returns whether a method uses an option, which has its name in DeconvolveOptions. Further names
/// are "start" (DeconvolveRun::start), and "mask", "no_data", "hot_pixels" and "nan" for the pixels
/// that are left out.
CONVOLUME_API bool uses_option(DeconvolveMethod, std::string_view option);
/// Throws InvalidArgument if the method does not use the option.
CONVOLUME_API void require_option(DeconvolveMethod, std::string_view option);
/// Throws InvalidArgument if these options do not use an option that the caller gave, maybe with
/// its default: their method, or for the acceleration their way of updating views. Asking for no
/// acceleration is always right for views.
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
/// Parses a name that to_string() returns. Throws InvalidArgument, which lists the names, for
/// others.
CONVOLUME_API DeconvolveMethod parse_deconvolve_method(std::string_view);
/// Parses "none" or "biggs-andrews". Throws InvalidArgument, which lists these, for others.
CONVOLUME_API Acceleration parse_acceleration(std::string_view);
/// Parses "simultaneous", "sequential" or "efficient". Throws InvalidArgument, which lists these,
/// for others.
CONVOLUME_API ViewUpdates parse_view_updates(std::string_view);
/// Parses the value of DeconvolveOptions::boundary: "extend", which gives none, or the name of a
/// BoundaryKind other than constant. Throws InvalidArgument, which lists these, for others.
CONVOLUME_API std::optional<Boundary> parse_edges(std::string_view);

/// Figures about one iteration.
struct Iteration {
    int number = 0;  ///< number of the iteration, from 1
    int of = 0;      ///< number of iterations that are planned
    /// Logarithm of the Poisson likelihood of the estimate x from which this iteration started,
    /// relative to a perfect fit. It is at most 0. For all methods but nnls and wiener.
    ///
    ///     −Σ [m − y + y log(y / m)],  m = A x + b
    double likelihood = 0;
    /// Relative residual in the L2 norm. For wiener it is that of the equation, for nnls that of
    /// the image at the starting point of this iteration. For map it is what is left of the
    /// optimality condition at the starting point p, relative to the light that reaches the image.
    ///
    ///     Σ |p ∂Φ/∂p| / Σ p Aᵀ1
    double residual = 0;
    bool searching = false;  ///< whether hold_out is searching for the number of iterations
    /// Root mean square difference from the other half's estimate, while `searching`; 0 while that
    /// is made. Of DeviceDeconvolver that of the set-apart photons from their prediction.
    double held_out = 0;
    double consenting = 0;  ///< share of voxels that took the step of rlgc
    int split = 0;  ///< number, from 1, of the split whose half is restored, which cannot be read
};

/// Stores the estimate after an iteration in a view of any real type, whose shape is the image's or
/// DeconvolvePlan::object. It may be called only while the callback runs.
using EstimateReader = std::function<void(const ImageView&)>;

/// Initial estimate and callback of one execution.
/// @code{.cpp}
/// Volume image({8, 32, 32}, PixelType::float32), psf({3, 3, 3}, PixelType::float32);
/// std::fill_n(image.elements<float>(), element_count(image.shape()), 10.0F);
/// std::fill_n(psf.elements<float>(), 27, 1.0F);
/// Volume estimate(image.shape(), PixelType::float32);
/// DeconvolveRun run;
/// run.reads_every = 10;
/// run.on_iteration = [&](const Iteration& iteration, const EstimateReader& read) {
///     // Estimates of a search are of a part of the image, and cannot be read.
///     if (iteration.searching || iteration.number % 10 != 0) return;
///     read(estimate.view());
///     std::cout << iteration.number << ": " << iteration.likelihood << '\n';
/// };
/// Deconvolver(image.shape(), psf.view()).execute(image.view(), image.view(), run);
/// @endcode
struct DeconvolveRun {
    /// Initial estimate, of any real type. It has the image's shape, with its mean around it, or
    /// that of DeconvolvePlan::object. Voxels that are not above 0 start with a thousandth of the
    /// mean. Without data, the initial estimate is a constant. For all methods but wiener.
    /// An iteration without acceleration continues exactly from an estimate of the object's shape;
    /// momentum starts anew.
    ConstImageView start{};
    /// Weight of each pixel in the likelihood, with the image's shape and any real type, if
    /// DeconvolveOptions::has_pixel_weights is set. Weights are at least 0. They are
    /// divided by the largest one, so that only their ratios count. A pixel of weight 0 says
    /// nothing of the object, but enters the estimates of background and noise unless it is marked
    /// as missing (missing_pixel). Voxels that send less than 1 % of their light, by weight, into
    /// the image stay 0.
    ///
    ///     x ← x / (Aᵀw) · Aᵀ(w y / (A x + b))
    ConstImageView pixel_weights{};
    /// Is called after every iteration, unless empty.
    std::function<void(const Iteration&, const EstimateReader&)> on_iteration;
    /// Is called after on_iteration, unless empty, for the iterations whose estimates may be read.
    /// Returns true to end the iterations: the current estimate is the result. It is not called
    /// while the number of iterations is searched for, or for halves of splits.
    std::function<bool(const Iteration&)> accepts{};
    /// Distance, in iterations, of the estimates that on_iteration may read and `accepts` is asked
    /// about; 0: none. The iterations between may be computed together. They are then reported
    /// together, and their estimates cannot be read.
    int reads_every = 1;
    /// Receives the standard deviation σ that the noise of photons gives each voxel, as float32.
    /// The photons are divided N times (DeconvolveOptions::splits) at random into halves, which are
    /// restored into x₁ and x₂ with as many iterations as the result. Bias is not in it.
    ///
    ///     σ² = Σ ((x₁ − x₂) / 2)² / N
    ImageSink* uncertainty = nullptr;
};

/// Figures about one finished deconvolution.
struct DeconvolveReport {
    int iterations = 0;         ///< number of iterations done
    Iteration last;             ///< figures of the last iteration
    int coarse_iterations = 0;  ///< number of iterations on all coarser images together
    int restarts = 0;           ///< number of steps that acceleration took without extrapolation
    double background = 0;      ///< background b, as given or estimated
    /// Mean of the image's darkest regions, squares of 8×8 pixels, if it contradicts the background
    /// or leaves it doubtful. It is below a given background, or the specimen may fill the image,
    /// with an estimated background between the offset and it.
    /// Not set for images in GPU memory with a given background.
    std::optional<double> darkest;
    /// How far the right background may be from an estimated one, at least a tenth of `light`
    /// (bench/restoration/light.py measures how often such a range holds the right one). Not set
    /// if the background was given, or is 0 because nothing tells it.
    std::optional<double> background_error;
    bool is_under_haze = false;  ///< whether haze over the whole image hides the background
    /// Difference between the largest and the smallest background of a pixel. Set if
    /// DeconvolveOptions::has_varying_background is.
    std::optional<double> background_range;
    double light = 0;       ///< mean of the compared pixels above the background
    int searched = 0;       ///< number of iterations that searched for the number (hold_out)
    PhotonScale photons;    ///< scale in use: the offset, and the gain of photons
    bool has_gain = false;  ///< whether the gain was given or estimated; otherwise it is 1
    /// Whether neighboring pixels share their noise, as after a filter, a resampling or a
    /// compression. The noise then tells no gain, and no photons can be held out: with hold_out
    /// there are usual_coarse_start iterations on each coarser image, and filtered_iterations.
    bool is_filtered = false;
    /// Standard error of an offset that was estimated from the noise. Not set if the offset was
    /// given, or is 0 because the noise does not tell it.
    std::optional<double> offset_error;
    /// Deviance of a pixel, which is 1 if photon noise is all that differs between the image and
    /// the blurred estimate. It is larger after too few iterations, or if the PSF is not that of
    /// the recording. Set if the method counts photons, the gain is known, and all pixels have
    /// equal weights.
    ///
    ///     2 Q Σ [y log(y / m) − (y − m)] / N,  Q photons for each unit of the image
    std::optional<double> misfit;
    double tv_weight = 0;          ///< weight of the total variation of rl-tv, given or chosen
    double roughness = 0;          ///< weight of the roughness of map, given or chosen
    index_t negative_pixels = 0;   ///< pixels of the image below 0, read as 0 except by wiener
    index_t saturated_pixels = 0;  ///< pixels of the image that are lower bounds
    index_t missing_pixels = 0;    ///< pixels of the image that were left out
    ExecutionReport executed;      ///< seconds, and numbers of clamped results
};

/// The decision where and how a Deconvolver works, with its memory.
struct CONVOLUME_API DeconvolvePlan {
    bool on_device = false;  ///< whether all arrays stay in the memory of GPUs
    /// Whether arrays are in host memory, and GPUs walk along z in each iteration.
    bool by_walks = false;
    /// Number of consecutive iterations that one walk computes, if no estimate between them is
    /// read.
    int iterations_a_walk = 1;
    int tiles = 1;             ///< number of tiles of each plane that a walk goes through in turn
    std::string engines;       ///< names such as "gpu:0 gpu:1"
    int psfs = 1;              ///< number of PSFs at depths that the object reaches
    Shape3 object;             ///< extents of the estimate
    Shape3 grid;               ///< padded extents of the transforms
    index_t array_bytes = 0;   ///< bytes of the arrays of the iteration, in host or GPU memory
    index_t device_bytes = 0;  ///< bytes of arrays and transforms on each GPU
    index_t host_bytes = 0;    ///< bytes of arrays and convolutions in host memory
    /// Reason why an allowed GPU does not hold the arrays; empty if it does, or if none is allowed.
    std::string why_not_on_device;
    int coarse_iterations = 0;          ///< number of iterations on each coarser image
    std::vector<Shape3> coarse_images;  ///< extents of the coarser images, the coarsest first
    /// Extents of the part of the image in which hold_out searches.
    std::optional<Shape3> searched_part;
    int splits = 0;  ///< number of splits, each of which takes two further runs

    std::string to_string() const;  ///< returns some lines for people
};

/// Deconvolves images of one shape with one PSF, in float32. All arrays stay in the memory of a GPU
/// if they fit. Several GPUs share the planes in iterations of richardson_lucy and
/// scaled_heavy_ball with edges extend or zero. These are all GPUs that are named, else as many as
/// shorten the time. If GPUs are too small, they walk along z, and each array crosses the bus once
/// in an iteration. On the CPU alone, these iterations are passes over one spectrum, unless direct
/// sums are faster. In all other cases a Convolver blurs and projects back, on CPU or GPUs. With a
/// PSF that varies with depth, all convolutions are such passes, on CPU or GPUs.
/// @code{.cpp}
/// PsfOptions microscope;
/// microscope.size = {9, 9, 9};
/// const Psf psf = make_psf(microscope);
/// Volume image({16, 48, 48}, PixelType::uint16), restored(image.shape(), PixelType::float32);
/// std::fill_n(image.elements<std::uint16_t>(), element_count(image.shape()), 100);
/// DeconvolveOptions options;
/// options.iterations = 10;
/// const Deconvolver deconvolver(image.shape(), psf.values.view(), options);
/// const DeconvolveReport report = deconvolver.execute(image.view(), restored.view());
/// std::cout << report.iterations << " iterations\n";
/// @endcode
class CONVOLUME_API Deconvolver {
  public:
    /// Plans, and transforms the PSF. `image_shape` and the shape of `psf` are z, y, x. The PSF is
    /// copied, its negative samples are set to 0, and its sum is made 1. Throws InvalidArgument
    /// (options), BadData (the PSF is complex, zero or has a NaN), OutOfMemory, or Unavailable.
    Deconvolver(const Shape3& image_shape, const ConstImageView& psf,
                const DeconvolveOptions& options = {}, const EngineChoice& engines = {});
    /// Plans with a PSF that varies with depth: between two depths of `psfs` the light of a plane
    /// is blurred by both PSFs in proportion, and beyond the first and the last depth by one PSF.
    ///
    ///     A = Σ_k A_k diag(w_k),  Σ_k w_k = 1
    ///
    /// Only the convolution along z takes longer than that with one PSF. PSFs may have different
    /// extents: each is placed by its center. Edges are `extend` or zero, and the method is not
    /// "wb". Throws as the other constructor does.
    Deconvolver(const Shape3& image_shape, const std::vector<DepthPsf>& psfs,
                const DeconvolveOptions& options = {}, const EngineChoice& engines = {});

    DeconvolvePlan plan() const;
    double psf_sum() const;                ///< returns the sum of the (first) PSF as it was given
    index_t negative_psf_samples() const;  ///< returns the number of negative samples of all PSFs

    /// Deconvolves one image. `image` has any real type and finite samples. `result` has the same
    /// shape and any real type; integers are rounded and clamped. They may be the same memory.
    /// `run` has an initial estimate, and a callback for each iteration. Returns when the result is
    /// written. Several threads may call this; executions follow one another. Throws BadData (NaN,
    /// complex), Cancelled between iterations, and as Convolver does.
    DeconvolveReport execute(const ConstImageView& image, const ImageView& result,
                             const DeconvolveRun& run = {},
                             const ExecutionContext& context = {}) const;

    /// Deconvolves an image that is read plane by plane into a result that is written plane by
    /// plane. Both have one channel at one time (SourceChannel and SinkChannel choose them), of
    /// which only some planes are in host memory at once, unless a coarse start needs the whole
    /// image. Planes are converted while others are read, and while others are written. The result
    /// is that of the other execute().
    DeconvolveReport execute(ImageSource& image, ImageSink& result, const DeconvolveRun& run = {},
                             const ExecutionContext& context = {}) const;

  private:
    struct Impl;
    Hidden<Impl> impl_;
};

/// As cached_convolver(), for deconvolutions. Executions of one Deconvolver follow each other.
CONVOLUME_API std::shared_ptr<const Deconvolver> cached_deconvolver(
    const Shape3& image_shape, const ConstImageView& psf, const DeconvolveOptions& options = {},
    const EngineChoice& engines = {});

}  // namespace convolume
