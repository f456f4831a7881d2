#pragma once
// Convolution between images that are in a GPU's memory already: for loops on the device, such as
// deconvolution.

#include <memory>

#include "convolume/options.hpp"
#include "convolume/view.hpp"

namespace convolume {

/// A cudaStream_t; null is the default stream.
using DeviceStream = void*;

class DeviceConvolver;

struct DeviceOptions {
    int device = 0;
    PixelType image_type = PixelType::float32;
    /// Nothing: the natural type of the computation.
    std::optional<PixelType> output_type;
    /// The kernel's whole spectrum is kept: fastest. Without it (or when memory is short) only the
    /// spectra of the kernel's own planes are, and every execution takes a little longer.
    bool keep_kernel_spectrum = true;
    /// Of what the convolver holds beside the caller's images; nothing: most of what is free.
    std::optional<index_t> memory_limit_bytes;
    /// A convolver of the same device to share a workspace with; nothing: one of its own.
    const DeviceConvolver* workspace_of = nullptr;
    index_t planes_at_once = 0;  ///< of the passes over planes, for measurements; 0: all
};

/// Convolves images of one shape with one kernel on one GPU. For the adjoint in the same loop make
/// a second one with Operation::adjoint: both may share a stream, and a workspace
/// (DeviceOptions::workspace_of), which takes most of the memory. Those that share one may be
/// destroyed in any order, and their executions must follow each other on the device.
class DeviceConvolver {
  public:
    /// `image_shape` is the image's (z, y, x), whatever the operation; `kernel` is in host memory
    /// and is copied. Everything that waits for the device happens here. Options::method is not
    /// used, and under NanPolicy::error images are not searched for NaN: they propagate.
    /// Throws as Convolver does, InvalidArgument when the workspace is another device's, and
    /// Unavailable when there is no such device.
    DeviceConvolver(const Shape3& image_shape, const ConstImageView& kernel,
                    const Options& options = {}, const DeviceOptions& device = {});
    ~DeviceConvolver();
    DeviceConvolver(DeviceConvolver&&) noexcept;
    DeviceConvolver& operator=(DeviceConvolver&&) noexcept;

    const Shape3& input_shape() const;
    const Shape3& output_shape() const;
    PixelType output_type() const;
    /// Device memory held, beside the caller's images; of a shared workspace, what it has grown by
    /// for this convolver.
    index_t device_bytes() const;
    /// Padded size of the transforms.
    const Shape3& grid() const;

    /// Enqueues one convolution on `stream` and returns: no synchronisation, no allocation. Images
    /// are contiguous, in C order, of input_shape() and the image type, output_shape() and
    /// output_type(); where they have the same bytes they may be the same memory. Executions share
    /// a workspace, so that those on different streams must be kept apart by events. Integer
    /// outputs are rounded and clamped. Throws DeviceFailure.
    void execute(const void* input, void* output, DeviceStream stream = nullptr);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace convolume
