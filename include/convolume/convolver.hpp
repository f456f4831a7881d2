#pragma once
// Where a kernel's centre is.
// The library's front door: plan once for an image shape and a kernel, execute any number of times.

#include <array>
#include <memory>

#include "convolume/engines.hpp"
#include "convolume/image_view.hpp"
#include "convolume/options.hpp"
#include "engines/engines.hpp"
#include "volumes/plan.hpp"

namespace convolume {

/// Index (z, y, x) of the sample of largest magnitude; of several equal ones the nearest to k/2.
Index3 kernel_peak(const ConstImageView& kernel);

/// Mean index (z, y, x), each sample counting by its magnitude. Throws BadData where all are 0.
std::array<double, 3> kernel_centroid(const ConstImageView& kernel);

/// The index `center` means in `kernel`. Throws InvalidArgument when it lies outside.
Index3 center_index(const KernelCenter& center, const ConstImageView& kernel);

/// Convolves images of one shape with one kernel. Immutable after construction: execute() may be
/// called from several threads. Kernel spectra and workspaces are kept between executions.
class Convolver {
  public:
    /// `image_shape` is the image's (z, y, x), whatever the operation; `kernel` is copied. Image
    /// and output types only enter the memory estimate: execute() takes any. Throws InvalidArgument
    /// (options), BadData (kernel all zero, or with NaN), OutOfMemory (no plan fits).
    Convolver(const Shape3& image_shape, const ConstImageView& kernel, const Options& options = {},
              EngineList engines = make_engines(), PixelType image_type = PixelType::float32,
              PixelType output_type = PixelType::float32);
    ~Convolver();
    Convolver(Convolver&&) noexcept;
    Convolver& operator=(Convolver&&) noexcept;

    /// What execute() takes and gives: for Operation::adjoint the other way round.
    const Shape3& input_shape() const;
    const Shape3& output_shape() const;
    /// complex64/128 when image type or kernel is complex, else the precision's real type.
    PixelType natural_output_type() const;
    /// Sum of the kernel as given (its real part), before normalisation.
    double kernel_sum() const;
    /// The plan in use. Where a GPU runs out of memory, execute() makes a smaller one and goes on.
    const Plan& plan() const;

    /// Input: any type and strides, shape input_shape(). Output: any real or integer type (complex
    /// when the result is), shape output_shape(); it may not overlap the input. Blocks until done.
    /// Throws InvalidArgument (shapes, types), BadData (NaN under NanPolicy::error), OutOfMemory,
    /// Cancelled.
    ExecutionReport execute(const ConstImageView& input, const ImageView& output,
                            const ExecutionContext& context = {}) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// One call for one image: plans, executes, returns the result in its natural type.
Volume convolve(const ConstImageView& image, const ConstImageView& kernel,
                const Options& options = {});

}  // namespace convolume
