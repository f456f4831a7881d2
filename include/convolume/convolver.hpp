// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolution of 3D images: plan once for an image shape and a kernel, execute any number of times.

#include <array>
#include <cmath>
#include <complex>
#include <memory>
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

/// One kind of work: bytes that are moved, and the time it would take by itself.
struct PlanStage {
    index_t bytes = 0;  ///< 0 where it is arithmetic
    double seconds = 0;
};

/// The kinds of work of a plan. Most of each overlaps with the others.
struct CONVOLUME_API PlanStages {
    PlanStage start;            ///< of the program from file to file, and of a GPU
    PlanStage prepare;          ///< the kernel, FFT plans, and memory that is used first
    PlanStage read;             ///< of streams
    PlanStage split_and_merge;  ///< of Method::dif
    PlanStage to_gpu;
    PlanStage convolve;
    PlanStage from_gpu;
    PlanStage write;   ///< of streams
    PlanStage commit;  ///< of files: what is not on disk yet when all is written

    /// Name and figures of those there are, in that order.
    std::vector<std::pair<const char*, PlanStage>> list() const;
};

/// Predicted figures of one way to run the problem.
struct PlanCandidate {
    Method method = Method::in_core;
    Algorithm algorithm = Algorithm::fft;
    bool on_gpu = false;
    int parts = 1;
    Index3 tiles{1, 1, 1};
    index_t slab_planes = 0;   ///< outputs of each step along z where engines walk; else 0
    int tasks_in_flight = 1;   ///< on each engine
    Shape3 grid;               ///< padded size of a block
    index_t block_bytes = 0;   ///< of the largest block and its kernel
    index_t engine_bytes = 0;  ///< most memory one engine takes, kernels included
    index_t host_bytes = 0;    ///< image, output, scratch, and engines that live in host memory
    index_t scratch_file_bytes = 0;  ///< of a split volume that memory has no room for
    double seconds = 0;    ///< of one image; of all where it is said how many are expected
    PlanStages stages;     ///< of as many images as `seconds`
    std::string rejected;  ///< why it cannot run; empty when it can
};

/// How a convolution is run, and what it was predicted to take.
struct CONVOLUME_API Plan {
    Shape3 image;   ///< extents
    Shape3 kernel;  ///< extents of what is left of the kernel where parts of it meet no pixel
    Shape3 output;
    bool complex_data = false;
    bool rank1_kernel = false;  ///< the kernel is a product of three 1D kernels
    Precision precision = Precision::float32;
    Boundary boundary{};
    PlanCandidate chosen;
    std::vector<PlanCandidate> candidates;  ///< all that were weighed, the chosen one among them
    std::vector<std::string> engines;       ///< names of those that take part: "cpu:0", "gpu:1"
    index_t tasks = 0;                      ///< blocks that are convolved on their own
    index_t scratch_bytes = 0;              ///< of the split volume of Method::dif
    index_t host_limit_bytes = 0;

    /// A table for people: sizes, memory, predicted time, and the candidates not taken.
    std::string to_string() const;
    /// The same for machines, as a JSON object.
    std::string to_json() const;
};

/// Convolves images of one shape with one kernel. Immutable after construction: execute() may be
/// called from several threads. Kernel spectra and workspaces are kept between executions.
class CONVOLUME_API Convolver {
  public:
    /// `image_shape` is the image's (z, y, x), whatever the operation; `kernel` is copied. Image
    /// and output types only enter the memory estimate: execute() takes any. Throws InvalidArgument
    /// (options), BadData (kernel all zero, or with NaN), OutOfMemory (no plan fits), Unavailable
    /// (a GPU is demanded and there is none).
    Convolver(const Shape3& image_shape, const ConstImageView& kernel, const Options& options = {},
              const EngineChoice& engines = {}, PixelType image_type = PixelType::float32,
              PixelType output_type = PixelType::float32);
    ~Convolver();
    Convolver(Convolver&&) noexcept;
    Convolver& operator=(Convolver&&) noexcept;

    /// What execute() takes and gives: for Operation::adjoint the other way round.
    const Shape3& input_shape() const;
    const Shape3& output_shape() const;
    /// complex64/128 when image type or kernel is complex, else the precision's real type.
    PixelType natural_output_type() const;
    /// Sum of the kernel as given (its real part), before normalization.
    double kernel_sum() const;
    /// The plan in use now. Where a GPU runs out of memory, execute() makes a smaller one and goes
    /// on.
    Plan plan() const;

    /// Input: any type and strides, shape input_shape(). Output: any real or integer type (complex
    /// when the result is), shape output_shape(), apart from the input in memory. Blocks until
    /// done. Throws InvalidArgument (null pointers, shapes, types, overlap), BadData (NaN under
    /// NanPolicy::error), OutOfMemory, Cancelled.
    ExecutionReport execute(const ConstImageView& input, const ImageView& output,
                            const ExecutionContext& context = {}) const;

    /// Convolves every channel and time of `source` into `sink`: of shapes input_shape() and
    /// output_shape(), of as many channels and times. Reading, convolving and writing overlap. With
    /// Options::streamed the image is not held in memory as a whole, unless Method::dif was asked
    /// for. Blocks until all is written. Throws as the other, and what source and sink throw; the
    /// sink has then been given a part of the result.
    ExecutionReport execute(ImageSource& source, ImageSink& sink,
                            const ExecutionContext& context = {}) const;

  private:
    struct Impl;
    friend struct ConvolverFactory;
    explicit Convolver(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// One call for one image: plans, executes, returns the result in its natural type.
CONVOLUME_API Volume convolve(const ConstImageView& image, const ConstImageView& kernel,
                              const Options& options = {}, const EngineChoice& engines = {});

/// Calls f(|sample|, Index3{z, y, x}) for every sample of a kernel.
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

/// Index (z, y, x) of the sample of largest magnitude; of several equal ones the nearest to k/2.
CONVOLUME_API Index3 kernel_peak(const ConstImageView& kernel);

/// Mean index (z, y, x), each sample counting by its magnitude. Throws BadData where all are 0.
CONVOLUME_API std::array<double, 3> kernel_centroid(const ConstImageView& kernel);

/// Copies a kernel that is stored in FFT order (KernelCenter::Kind::corner: its center is sample
/// 0, and what goes before it is at the upper ends) into natural order, with its center at k/2, as
/// numpy.fft.fftshift does.
CONVOLUME_API Volume unwrapped_kernel(const ConstImageView& kernel);

/// The index `center` means in `kernel`. Throws InvalidArgument when it lies outside.
CONVOLUME_API Index3 center_index(const KernelCenter& center, const ConstImageView& kernel);

}  // namespace convolume
