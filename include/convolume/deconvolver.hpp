// SPDX-License-Identifier: Apache-2.0
#pragma once
// Deconvolution: the object x behind a recorded image y = A x + b, where A blurs with a known point
// spread function (PSF) and b is a constant background.
//
// The object may reach beyond the image: with Edges `extend` it is estimated as far outside as the
// PSF carries light into the image (A is a convolution of mode valid), so that what lies just
// outside does not ring: Bertero and Boccacci, Astronomy & Astrophysics 437:369 (2005). Otherwise
// the object has the image's extents and goes on outside as a boundary says.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/convolver.hpp"
#include "convolume/export.hpp"

namespace convolume {

enum class DeconvolveMethod {
    /// Most probable object under Poisson noise: x <- x / (Aᵀ1) · Aᵀ(y / (A x + b)). Richardson,
    /// J. Opt. Soc. Am. 62:55 (1972); Lucy, Astron. J. 79:745 (1974).
    richardson_lucy,
    /// The same with Aᵀ1 + w ∂TV(x) for Aᵀ1, TV(x) = Σ √(|∇x|² + ε²) by forward differences: edges
    /// stay, noise goes. Dey et al., Microsc. Res. Tech. 69:260 (2006). ε is 0.001 of the image's
    /// mean, and the divisor at least a tenth of Aᵀ1.
    richardson_lucy_tv,
    /// The iteration of richardson_lucy from a point ahead, the scaled heavy ball: p = xₖ + αₖ (xₖ
    /// -
    /// xₖ₋₁), αₖ = (k - 1) / (k + 2), xₖ₊₁ = p / (Aᵀ1) · Aᵀ(y / (A p + b)). Wang and Miller, IEEE
    /// Trans. Image Process. 23:848 (2014), eq. 7 and 10. No step length is searched for: the
    /// misfit of xₖ falls to its least as 1 / k², that of richardson_lucy as 1 / k. So that no
    /// voxel goes dark for good, p is at least a tenth of xₖ.
    scaled_heavy_ball,
    /// The first `unmatched` steps with another back projector, which is nearly an inverse of A, x
    /// <-
    /// x · max(1/10, 1 + B(y / (A x + b) - 1)); then steps of richardson_lucy. B is a Wiener filter
    /// times a Butterworth filter that ends at the resolution limit, with `noise_to_signal` for the
    /// Wiener filter. Guo et al., Nat. Biotechnol. 38:1337 (2020). Outside the image the quotient
    /// is
    /// taken for 1. Unmatched steps are fast and need not raise the likelihood: 1 to 3 are usual.
    wiener_butterworth,
    /// Richardson-Lucy gradient consensus: in each step the photons are divided at random into two
    /// halves, each with a correction cᵢ of its own, and only voxels take the step where AᵀA((c₁ -
    /// 1)(c₂ - 1)) is not negative: where the halves agree nearby. Manton and York, doi
    /// 10.5281/zenodo.10278919 (2023). Ends where hardly more voxels agree than by
    /// chance, see `consensus`.
    gradient_consensus,
    /// Least squares over x >= 0, for bright images with additive noise: x <- max(0, p - Aᵀ(A p + b
    /// -
    /// y) / Aᵀ1) from a point p ahead of x, by accelerated projected gradients with restarts. Beck
    /// and Teboulle, SIAM J. Imaging Sci. 2:183 (2009).
    non_negative_least_squares,
    /// Least squares with a penalty, linear: (AᵀA + K) x = Aᵀ(y - b), by conjugate gradients
    /// (Hestenes
    /// and Stiefel 1952). With a wrap boundary this is Wiener's filter for white noise.
    wiener,
};

enum class Acceleration {
    none,
    /// Extrapolation along the last two steps: Biggs and Andrews, Appl. Opt. 36:1766 (1997),
    /// eq. 10; given up for one step where it would make the estimate less probable.
    biggs_andrews,
};

/// Photons that a pixel's value stands for: gain (value - offset).
struct PhotonScale {
    double gain = 1;
    double offset = 0;
};

struct DeconvolveOptions {
    DeconvolveMethod method = DeconvolveMethod::richardson_lucy;
    int iterations = 30;
    Acceleration acceleration = Acceleration::biggs_andrews;  ///< not of shb, nnls and wiener
    std::optional<Boundary> boundary;      ///< nothing: extend; `constant` is refused
    KernelCenter center{};                 ///< the PSF's sample that stands for no shift
    std::optional<double> background = 0;  ///< b; nothing: estimated from each image
    /// Pixels of at least this value are saturated: what they hold is not compared with the model.
    /// Not of nnls and wiener.
    std::optional<double> saturation;
    double tv_weight = 0.002;       ///< w of richardson_lucy_tv
    VoxelSize voxel{1, 1, 1};       ///< the gradient's spacing
    double noise_to_signal = 0.01;  ///< K of wiener and wb, where the PSF sums to 1
    /// Of rlgc: ends after five steps in a row that less than this share of the voxels took.
    /// Chance makes half of them agree.
    double consensus = 0.55;
    int unmatched = 2;  ///< of wb: so many steps with its back projector
    /// Ends before `iterations` when an iteration lowers the misfit by less than this fraction; of
    /// wiener, when the residual is at most this. Nothing: never; of wiener 0.001.
    std::optional<double> stop;
    /// Lets held-out photons find the number of iterations; `iterations` is the most that are
    /// tried. One photon in eight, drawn at random, is set apart. Iterations on the others end when
    /// four in a row have not predicted those set apart better (in the sum of squared differences).
    /// Then the image with all its photons takes as many iterations as were best. Not of nnls and
    /// wiener, and not with `stop`.
    bool hold_out = false;
    /// For drawing photons (hold_out and rlgc): whole photons are drawn one by one, what is left of
    /// a value is divided in proportion. Nothing: seen from each image's noise; 1 and 0 where it
    /// does not grow with brightness.
    std::optional<PhotonScale> photons;
    /// Above 0: begins with so many iterations on each of one or two coarser images, whose pixels
    /// are sums of two along each axis that is long enough and that the PSF blurs enough (along z
    /// in the coarsest only, unless neither y nor x is); their estimate, interpolated, is what the
    /// `iterations` begin with. The same object is reached sooner. Of rl, rl-tv and shb; where an
    /// estimate is given, it is taken and this does nothing.
    int coarse_start = 0;
    std::optional<index_t> max_host_bytes;  ///< as Options::max_host_bytes, arrays included
    /// The type that images will have, if it is known: uint8 and uint16 are then kept in 16 bits
    /// where GPUs deconvolve (not with hold_out nor saturation), and images of types that do not
    /// fit these are refused. Nothing: images of any type, kept as float32.
    std::optional<PixelType> image_type;
};

/// "rl", "rl-tv", "shb", "wb", "rlgc", "nnls", "wiener"; "none", "biggs-andrews"; "extend" or a
/// boundary. Parsers throw InvalidArgument that lists the choices.
CONVOLUME_API const char* to_string(DeconvolveMethod);
CONVOLUME_API const char* to_string(Acceleration);
/// Whether a method uses an option that some methods use and others do not: "acceleration",
/// "tv_weight", "noise_to_signal", "unmatched", "consensus", or "start" (DeconvolveRun::start).
CONVOLUME_API bool uses_option(DeconvolveMethod, std::string_view option);
/// Whether iterations tell a likelihood; else they tell a residual.
CONVOLUME_API bool has_likelihood(DeconvolveMethod);
CONVOLUME_API DeconvolveMethod parse_deconvolve_method(std::string_view);
CONVOLUME_API Acceleration parse_acceleration(std::string_view);
CONVOLUME_API std::optional<Boundary> parse_edges(std::string_view);

/// What is known after an iteration.
struct Iteration {
    int number = 0;  ///< from 1
    int of = 0;
    /// Logarithm of the Poisson likelihood of the estimate this iteration started from, relative to
    /// a perfect fit: -Σ [m - y + y log(y / m)], m = A x + b; at most 0. Not of nnls and wiener.
    double likelihood = 0;
    /// Relative L2: of wiener that of its equation, of nnls that of the image at the point this
    /// iteration started from.
    double residual = 0;
    bool searching = false;  ///< with hold_out: this is one of those that find the number
    double held_out = 0;     ///< then: root mean square of what is set apart minus its prediction
    double consenting = 0;   ///< of rlgc: the share of voxels that took the step
};

/// Stores the estimate as it is after an iteration in a view of the image's shape and any real
/// type, or in one of the shape of DeconvolvePlan::object. Only while the callback runs.
using EstimateReader = std::function<void(const ImageView&)>;

/// What goes along with one execution.
struct DeconvolveRun {
    /// The estimate to begin with, of any real type: of the image's shape (around it a constant),
    /// or of DeconvolvePlan::object. Voxels not above 0 begin with a thousandth of the mean. No
    /// data: a constant. Not of wiener. Momentum begins anew: a plain iteration goes on as if it
    /// had not been interrupted, from an estimate of the object's shape.
    ConstImageView start{};
    std::function<void(const Iteration&, const EstimateReader&)> on_iteration;  ///< may be empty
    /// Of so many iterations, on_iteration reads the estimate after the last one at most; 0: never.
    /// Those between may be computed together: they are then reported together, and may not read.
    int reads_every = 1;
};

struct DeconvolveReport {
    int iterations = 0;  ///< done
    Iteration last;
    int coarse_iterations = 0;     ///< done before on coarser images, all together
    int restarts = 0;              ///< steps without extrapolation that acceleration had to take
    double background = 0;         ///< used
    int searched = 0;              ///< with hold_out: iterations that found the number
    PhotonScale photons;           ///< with hold_out and of rlgc: used
    index_t negative_pixels = 0;   ///< of the image, read as 0 (not by wiener)
    index_t saturated_pixels = 0;  ///< of the image, left out
    ExecutionReport executed;      ///< seconds; clamped results
};

/// How a Deconvolver works, and in how much memory.
struct CONVOLUME_API DeconvolvePlan {
    bool on_device = false;         ///< all arrays stay in the memory of GPUs
    bool by_walks = false;          ///< arrays in host memory; an iteration is one walk of the GPUs
                                    ///< along z
    int iterations_a_walk = 1;      ///< or so many are, where none is looked at and none may end
    int tiles = 1;                  ///< of planes, which a walk goes through one after another
    std::string engines;            ///< "gpu:0 gpu:1"; of a host loop the engines that convolve
    Shape3 object;                  ///< extents of the estimate
    Shape3 grid;                    ///< of the transforms
    index_t array_bytes = 0;        ///< of the loop's own arrays, where they are
    index_t device_bytes = 0;       ///< arrays and transforms on the device, or those of each GPU
    index_t host_bytes = 0;         ///< arrays and convolutions in host memory
    std::string why_not_on_device;  ///< where a GPU was allowed and could not hold the arrays
    int coarse_iterations = 0;      ///< as DeconvolveOptions::coarse_start
    std::vector<Shape3> coarse_images;  ///< extents of the coarser images, the coarsest first

    std::string to_string() const;  ///< some lines for people
};

/// Deconvolves images of one shape with one PSF, in float32. Where everything fits, it stays in the
/// memory of a GPU. Iterations of richardson_lucy and scaled_heavy_ball with edges extend or zero
/// also go in slabs of planes on several GPUs (all that are named, else as many as are worth it),
/// and where GPUs are too small in walks along z, for which each array crosses the bus once. The
/// CPU alone takes the same iterations by passes over one spectrum, where direct sums are not
/// faster. Else Convolver streams through CPU or GPUs as it plans.
class CONVOLUME_API Deconvolver {
  public:
    /// `psf` is copied, negative samples are set to 0, and its sum is made 1. Throws
    /// InvalidArgument (options), BadData (PSF complex, zero or with NaN), OutOfMemory,
    /// Unavailable.
    Deconvolver(const Shape3& image_shape, const ConstImageView& psf,
                const DeconvolveOptions& options = {}, const EngineChoice& engines = {});
    ~Deconvolver();
    Deconvolver(Deconvolver&&) noexcept;
    Deconvolver& operator=(Deconvolver&&) noexcept;

    DeconvolvePlan plan() const;
    double psf_sum() const;  ///< as given
    index_t negative_psf_samples() const;

    /// Image: any real type, finite. Result: the same shape, any real type; integers are rounded
    /// and clamped. They may be the same memory. `run`: an estimate to begin with, and a look at
    /// each iteration. Blocks. May be called from several threads; executions follow one another.
    /// Throws BadData (NaN, complex), Cancelled between iterations, and as Convolver does.
    DeconvolveReport execute(const ConstImageView& image, const ImageView& result,
                             const DeconvolveRun& run = {},
                             const ExecutionContext& context = {}) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace convolume
