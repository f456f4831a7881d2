#pragma once
// The library's front door: plan once for an image shape and a kernel, execute any number of times.

#include <memory>

#include "convolume/engine.hpp"
#include "convolume/gpu.hpp"
#include "convolume/options.hpp"
#include "convolume/plan.hpp"

namespace convolume {

/// Which engines to use.
struct EngineChoice {
    enum class Device {
        automatic,  ///< CPU and GPUs: the plan takes whichever it predicts to be faster
        cpu,
        gpu
    };
    Device device = Device::automatic;
    std::vector<int> gpus;  ///< device numbers; empty: all
    int cpu_engines = 1;    ///< several stand in for several small GPUs
    int threads = 0;        ///< of all CPU engines together; 0: what OpenMP would use
    std::optional<index_t> engine_memory_bytes;  ///< limit of each CPU engine
    std::optional<index_t> gpu_memory_bytes;     ///< limit of each GPU
    TransferGate transfer_gate = TransferGate::automatic;
};

/// Throws Unavailable when a GPU is demanded and there is none. With Device::automatic a GPU that
/// cannot be used is left out; gpu_unavailable() says why.
EngineList make_engines(const EngineChoice& choice = {});

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
