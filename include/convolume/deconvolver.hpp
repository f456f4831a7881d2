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
#include <vector>

#include "convolume/convolver.hpp"
#include "convolume/deconvolve_options.hpp"
#include "convolume/export.hpp"
#include "convolume/image_stream.hpp"

namespace convolume {

/// Scale from a pixel's value to photons:
///
///     photons = gain (value − offset)
struct PhotonScale {
    double gain = 1;
    double offset = 0;
};

/// The PSF of one depth, for a PSF that varies with depth.
struct DepthPsf {
    ConstImageView psf;
    /// Distance along z from the image's first plane, whose planes are DeconvolveOptions::voxel
    /// apart.
    double depth_um = 0;
    std::optional<KernelCenter> center;  ///< if not given, DeconvolveOptions::center
};

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
    int views = 1;             ///< number of images of the object
    Shape3 object;             ///< extents of the estimate
    Shape3 grid;               ///< padded extents of the transforms; the largest of several views
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
