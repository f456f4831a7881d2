// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolution of 3D images: plan once for an image shape and a kernel, execute any number of times.
// options.hpp defines what is computed.

#include <array>
#include <cmath>
#include <complex>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "convolume/engines.hpp"
#include "convolume/execution.hpp"
#include "convolume/export.hpp"
#include "convolume/image_stream.hpp"
#include "convolume/options.hpp"
#include "convolume/volume.hpp"

namespace convolume {

/// One kind of work in a plan: the bytes that it moves, and the seconds that it would take alone.
struct PlanStage {
    index_t bytes = 0;  ///< bytes that are moved; 0 for arithmetic
    double seconds = 0;
};

/// The kinds of work of a plan. They overlap, so that a plan takes less than the sum of their
/// times.
struct CONVOLUME_API PlanStages {
    PlanStage start;            ///< start-up of the command, if it runs, and of a GPU
    PlanStage prepare;          ///< preparation of the kernel and of FFT plans; first use of memory
    PlanStage read;             ///< reading from an ImageSource
    PlanStage split_and_merge;  ///< split into the parts of Method::dif, and their merge
    PlanStage to_gpu;           ///< copies to a GPU
    PlanStage convolve;         ///< computation by engines
    PlanStage from_gpu;         ///< copies from a GPU
    PlanStage write;            ///< writing to an ImageSink
    PlanStage commit;           ///< flush of a file's last samples to disk

    /// Returns name and figures of each stage that takes time, in the order of the members.
    std::vector<std::pair<const char*, PlanStage>> list() const;
};

/// One way to solve the problem, with its predicted figures, which the planner compares.
struct PlanCandidate {
    Method method = Method::in_core;
    Algorithm algorithm = Algorithm::fft;
    bool on_gpu = false;
    int parts = 1;             ///< number of parts of Method::dif
    Index3 tiles{1, 1, 1};     ///< numbers of tiles along z, y, x
    index_t slab_planes = 0;   ///< output planes of each step of a walk along z; 0 without walks
    int gpus_per_block = 1;    ///< number of GPUs over whose memory each block is spread
    index_t ring_planes = 0;   ///< planes of a streamed image that are read once for all tiles
    int tasks_in_flight = 1;   ///< number of tasks that each engine works on at once
    Shape3 grid;               ///< padded size of a block
    index_t block_bytes = 0;   ///< bytes of the largest block and its kernel
    index_t engine_bytes = 0;  ///< most bytes on the CPU or on one GPU, kernels included
    index_t host_bytes = 0;    ///< bytes of image, output, scratch volumes and CPU engines
    /// Bytes of scratch files, for split volumes that do not fit memory.
    index_t scratch_file_bytes = 0;
    index_t split_kernel_bytes = 0;  ///< bytes of the kernel split into parts; 0 without parts
    bool image_in_files = false;     ///< the split image is in scratch files
    bool kernel_in_files = false;    ///< the split kernel is in scratch files
    /// Whether engines keep their prepared kernels for later executions. If they do not, kernels
    /// are prepared from host memory, or from scratch files, in every execution.
    bool keeps_kernels = true;
    /// Predicted seconds of one image, or of Options::expected_executions images if given.
    double seconds = 0;
    PlanStages stages;     ///< stages of the same number of images as `seconds`
    std::string rejected;  ///< reason why the candidate cannot run; empty if it can
};

/// The decision how a convolution is run, with its predicted time and memory.
struct CONVOLUME_API Plan {
    Shape3 image;   ///< extents of the input
    Shape3 kernel;  ///< extents of the kernel, without taps that meet no pixel
    Shape3 output;  ///< extents of the result
    bool complex_data = false;
    bool rank1_kernel = false;  ///< the kernel is a product of three 1D kernels
    Precision precision = Precision::float32;
    Boundary boundary{};
    PlanCandidate chosen;
    std::vector<PlanCandidate> candidates;  ///< all compared candidates, including `chosen`
    std::vector<std::string> engines;       ///< names of the engines in use: "cpu:0", "gpu:1"
    index_t tasks = 0;                      ///< number of blocks that are convolved independently
    index_t scratch_bytes = 0;              ///< bytes of the split volume of Method::dif
    index_t host_limit_bytes = 0;           ///< limit of host memory, see Options::max_host_bytes

    /// Returns a table for people: sizes, memory, predicted time, and the other candidates.
    std::string to_string() const;
    /// Returns the plan as a JSON object, for programs.
    std::string to_json() const;
};

/// Convolves images of one shape with one kernel. execute() may be called from several threads.
/// Kernel spectra and workspaces are kept between executions.
/// @code{.cpp}
/// Volume image({32, 64, 64}, PixelType::uint16), blurred(image.shape(), PixelType::float32);
/// Volume kernel({5, 5, 5}, PixelType::float32);
/// std::fill_n(kernel.elements<float>(), 125, 1.0F);
/// Options options;
/// options.normalization = KernelNormalization::sum;
/// options.boundary = {BoundaryKind::reflect};
/// const Convolver blur(image.shape(), kernel.view(), options);
/// std::cout << blur.plan().to_string();
/// for (int frame = 0; frame < 3; ++frame) blur.execute(image.view(), blurred.view());
/// @endcode
class CONVOLUME_API Convolver {
  public:
    /// Plans, and transforms the kernel. `image_shape` is the shape (z, y, x) of the image that
    /// Operation::convolve takes, for all operations. `kernel` is copied. Image and output types
    /// only enter the memory estimate: execute() takes any. Throws InvalidArgument (options),
    /// BadData (the kernel is zero or has a NaN), OutOfMemory (no plan fits), or Unavailable (a GPU
    /// is requested and there is none).
    Convolver(const Shape3& image_shape, const ConstImageView& kernel, const Options& options = {},
              const EngineChoice& engines = {}, PixelType image_type = PixelType::float32,
              PixelType output_type = PixelType::float32);
    /// Plans as the other constructor does, and throws the same, but takes over the kernel's
    /// memory. The kernel is not copied if its type is natural_output_type(), the operation is
    /// Operation::convolve, and all its samples reach the output.
    /// @code{.cpp}
    /// Volume kernel({3, 3, 3}, PixelType::float32);
    /// kernel.elements<float>()[13] = 1;
    /// const Convolver identity({32, 64, 64}, std::move(kernel));
    /// assert(identity.kernel_sum() == 1);
    /// @endcode
    Convolver(const Shape3& image_shape, Volume kernel, const Options& options = {},
              const EngineChoice& engines = {}, PixelType image_type = PixelType::float32,
              PixelType output_type = PixelType::float32);
    ~Convolver();
    Convolver(Convolver&&) noexcept;
    Convolver& operator=(Convolver&&) noexcept;

    /// Replaces the kernel by one of the same extents and type, and keeps plan, engines and
    /// workspaces: for loops that change the kernel and not its size. The results are those of a
    /// new Convolver, bit by bit if that has the same plan. The kernel is copied, and prepared by
    /// the next execution. Other threads may execute meanwhile: executions that have begun end with
    /// the kernel that they began with, which stays in memory until then. Only if one kernel is a
    /// product of three 1D kernels and the other is not, the plan is made anew. Throws
    /// InvalidArgument (extents, type, or a center by KernelCenter::Kind::peak or centroid that
    /// moved), BadData as the constructor does, or OutOfMemory; the kernel is then as before.
    /// @code{.cpp}
    /// Volume kernel({3, 3, 3}, PixelType::float32), result({8, 8, 8}, PixelType::float32);
    /// const Volume image({8, 8, 8}, PixelType::float32);
    /// kernel.elements<float>()[13] = 1;
    /// Convolver blur(image.shape(), kernel.view());
    /// for (int step = 0; step < 3; ++step) {
    ///     blur.execute(image.view(), result.view());
    ///     kernel.elements<float>()[13] += 1;  // better taps, found from the result
    ///     blur.replace_kernel(kernel.view());
    /// }
    /// assert(blur.kernel_sum() == 4);
    /// @endcode
    void replace_kernel(const ConstImageView& kernel);

    /// Returns the shape (z, y, x) that execute() takes. For Operation::adjoint it is the output
    /// shape of Operation::convolve.
    const Shape3& input_shape() const;
    /// Returns the shape (z, y, x) that execute() gives.
    const Shape3& output_shape() const;
    /// Returns complex64 or complex128 if the image type or the kernel is complex, else the real
    /// type of the precision.
    PixelType natural_output_type() const;
    /// Returns the sum of the kernel before normalization, or its real part.
    double kernel_sum() const;
    /// Returns the plan in use now. If a GPU runs out of memory, execute() makes a smaller plan and
    /// goes on with that.
    Plan plan() const;

    /// Convolves one image in memory. `input` has the shape input_shape(), and any type and
    /// strides. `output` has the shape output_shape(), and any real or integer type, or a complex
    /// one if the result is complex. The two must not overlap. Returns when the result is written.
    /// Throws InvalidArgument (null pointers, shapes, types, overlap), BadData (NaN under
    /// NanPolicy::error), OutOfMemory, or Cancelled.
    ExecutionReport execute(const ConstImageView& input, const ImageView& output,
                            const ExecutionContext& context = {}) const;

    /// Convolves every channel and time of `source` into `sink`. Their shapes are input_shape() and
    /// output_shape(), and they have equal numbers of channels and times. Reading, convolving and
    /// writing overlap. With Options::streamed the image is not held in memory as a whole, unless
    /// Method::dif was requested. Returns when all is written. Throws as execute() for images in
    /// memory does, and the errors of source and sink; the sink then has an incomplete result.
    ExecutionReport execute(ImageSource& source, ImageSink& sink,
                            const ExecutionContext& context = {}) const;

  private:
    struct Impl;
    friend struct ConvolverFactory;
    explicit Convolver(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Convolves one image (z, y, x) in one call: plans, executes, and returns the result in its
/// natural type. Throws as Convolver does.
/// @code{.cpp}
/// Volume image({32, 64, 64}, PixelType::float32), kernel({3, 3, 3}, PixelType::float32);
/// kernel.elements<float>()[13] = 2;  // the center: z = y = x = 1
/// image.elements<float>()[100] = 5;
/// const Volume doubled = convolve(image.view(), kernel.view());
/// assert(std::abs(doubled.elements<float>()[100] - 10) < 1e-4);
/// @endcode
CONVOLUME_API Volume convolve(const ConstImageView& image, const ConstImageView& kernel,
                              const Options& options = {}, const EngineChoice& engines = {});

/// Largest number of products of samples and taps, and of samples, of convolve_small(). That many
/// take about 50 µs, and a plan takes 200 µs.
inline constexpr index_t most_small_products = index_t{1} << 18;

/// Convolves a small image by direct sums in the caller's thread, without a plan: a call takes
/// microseconds. Returns nothing, and writes nothing, if there are more products than
/// most_small_products, if the options request another method or the adjoint, if image and output
/// overlap, or if the image holds NaN under NanPolicy::error. A Convolver then does the work, or
/// tells what is wrong. `output` has the shape of the result. Throws as Convolver does.
/// @code{.cpp}
/// Volume image({1, 8, 8}, PixelType::uint8), kernel({1, 3, 3}, PixelType::float32);
/// Volume blurred({1, 8, 8}, PixelType::float32);
/// image.elements<std::uint8_t>()[9] = 5;  // z = 0, y = x = 1
/// kernel.elements<float>()[4] = 2;
/// assert(convolve_small(image.view(), kernel.view(), {}, blurred.view()));
/// assert(blurred.elements<float>()[9] == 10);
/// @endcode
CONVOLUME_API std::optional<ExecutionReport> convolve_small(const ConstImageView& image,
                                                            const ConstImageView& kernel,
                                                            const Options& options,
                                                            const ImageView& output);

/// Calls f(|sample|, Index3{z, y, x}) for every sample of a kernel, in C order.
/// @code{.cpp}
/// const std::vector<float> kernel = {1, -2, 1};
/// double sum = 0;
/// for_each_magnitude(view_of(kernel.data(), {1, 1, 3}), [&](double m, Index3) { sum += m; });
/// assert(sum == 4);
/// @endcode
template <class F>
void for_each_magnitude(const ConstImageView& kernel, F&& f) {
    visit_pixel_type(kernel.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (index_t z = 0; z < kernel.shape.z; ++z)
            for (index_t y = 0; y < kernel.shape.y; ++y)
                for (index_t x = 0; x < kernel.shape.x; ++x) {
                    const T value = *static_cast<const T*>(kernel.at(z, y, x));
                    if constexpr (requires { value.imag(); })
                        f(static_cast<double>(std::abs(value)), Index3{z, y, x});
                    else
                        f(std::abs(static_cast<double>(value)), Index3{z, y, x});
                }
    });
}

/// Returns the Convolver of these arguments from the cache of plans (cache.hpp). If there is none,
/// it is planned, and kept. The caller may use it as long as it likes. The plan is that of a
/// Convolver without Options::expected_executions, since it serves later calls, too. Four times
/// that number, if given, decides whether GPUs are worth their start. Throws as Convolver does.
/// @code{.cpp}
/// Volume kernel({3, 3, 3}, PixelType::float32);
/// std::fill_n(kernel.elements<float>(), 27, 1 / 27.0F);
/// const auto blur = cached_convolver({16, 64, 64}, kernel.view());
/// assert(cached_convolver({16, 64, 64}, kernel.view()) == blur);
/// @endcode
CONVOLUME_API std::shared_ptr<const Convolver> cached_convolver(
    const Shape3& image_shape, const ConstImageView& kernel, const Options& options = {},
    const EngineChoice& engines = {}, PixelType image_type = PixelType::float32,
    PixelType output_type = PixelType::float32);

/// Returns the index (z, y, x) of the sample of largest magnitude. If several are equal, it is the
/// one nearest to k/2, where k are the kernel's extents.
/// @code{.cpp}
/// const std::vector<float> kernel = {0, 1, 3, 1};
/// const ConstImageView view = view_of(kernel.data(), {1, 1, 4});
/// assert(kernel_peak(view) == (Index3{0, 0, 2}));
/// assert(kernel_centroid(view)[2] == 2);
/// assert(center_index({KernelCenter::Kind::scipy}, view) == (Index3{0, 0, 1}));
/// @endcode
CONVOLUME_API Index3 kernel_peak(const ConstImageView& kernel);

/// Returns the mean index (z, y, x) of the samples, weighted by their magnitudes:
///
///     Σ |h[i]| i / Σ |h[i]|
///
/// Throws BadData if all samples are 0.
CONVOLUME_API std::array<double, 3> kernel_centroid(const ConstImageView& kernel);

/// Copies a kernel from FFT order (KernelCenter::Kind::corner) to natural order, as
/// numpy.fft.fftshift does. In FFT order the center is sample 0, and samples before the center are
/// at the upper end of each axis. In natural order the center is k/2.
/// @code{.cpp}
/// const std::vector<float> kernel = {3, 2, 1, 0, 1, 2};
/// const Volume natural = unwrapped_kernel(view_of(kernel.data(), {1, 1, 6}));
/// assert(natural.elements<float>()[3] == 3);
/// @endcode
CONVOLUME_API Volume unwrapped_kernel(const ConstImageView& kernel);

/// Returns the index (z, y, x) that `center` stands for in `kernel`. Throws InvalidArgument if it
/// lies outside.
CONVOLUME_API Index3 center_index(const KernelCenter& center, const ConstImageView& kernel);

}  // namespace convolume
