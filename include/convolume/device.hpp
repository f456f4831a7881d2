// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolution and deconvolution of images, and filtering of signals, that are in a GPU's memory
// already: for work that stays on the device. Of convolution and filtering nothing waits for the
// device after construction.

#include <memory>
#include <utility>
#include <vector>

#include "convolume/deconvolver.hpp"
#include "convolume/export.hpp"
#include "convolume/filter_bank.hpp"
#include "convolume/image_view.hpp"
#include "convolume/options.hpp"

struct CUstream_st;  // CUDA's: a cudaStream_t points to one

namespace convolume {

/// A CUDA stream, which a cudaStream_t converts to; by default the default stream.
class CONVOLUME_API DeviceStream {
  public:
    constexpr DeviceStream() = default;
    constexpr DeviceStream(CUstream_st* stream) : stream_(stream) {}
    constexpr CUstream_st* get() const { return stream_; }

  private:
    CUstream_st* stream_ = nullptr;
};

class DeviceConvolver;
class DeviceDeconvolver;
class DeviceWorkspace;  // memory that executions overwrite

/// Whose workspace a convolver or deconvolver shares: that of another convolver or deconvolver on
/// the same device; nothing: it gets one of its own. A workspace, which takes most of a convolver's
/// memory, is as large as the largest of those that share it needs. Made after smaller ones, that
/// one makes it grow, for which old and new are there at once if there is room.
///
/// Those that share one are used as others are, from any stream and thread and in callbacks of a
/// deconvolution, and may be destroyed in any order. On the device their executions follow one
/// another. Iterations of a deconvolution let others in between, and then make anew what these have
/// overwritten.
class CONVOLUME_API WorkspaceOf {
  public:
    WorkspaceOf() = default;
    WorkspaceOf(const DeviceConvolver* convolver);      ///< null: nothing
    WorkspaceOf(const DeviceDeconvolver* deconvolver);  ///< null: nothing
    explicit WorkspaceOf(std::shared_ptr<DeviceWorkspace> workspace)
        : workspace_(std::move(workspace)) {}
    const std::shared_ptr<DeviceWorkspace>& get() const { return workspace_; }

  private:
    std::shared_ptr<DeviceWorkspace> workspace_;
};

struct DeviceOptions {
    int device = 0;
    PixelType image_type = PixelType::float32;
    /// Nothing: the natural type of the computation.
    std::optional<PixelType> output_type;
    /// The kernel's whole spectrum is kept: fastest. Without it (or when memory is short) only the
    /// spectra of the kernel's own planes are, and every execution takes a little longer.
    bool keep_kernel_spectrum = true;
    /// Of what the convolver holds beside the caller's images; nothing: most of what is free.
    std::optional<index_t> max_gpu_bytes;
    WorkspaceOf workspace_of{};
};

/// Convolves images of one shape with one kernel on one GPU. For the adjoint in the same loop make
/// a second one with Operation::adjoint: both may share a stream, and a workspace
/// (DeviceOptions::workspace_of).
class CONVOLUME_API DeviceConvolver {
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

    /// Enqueues one convolution on `stream` and returns: no synchronization, no allocation. Images
    /// are contiguous, in C order, of input_shape() and the image type, output_shape() and
    /// output_type(); where they have the same bytes they may be the same memory. Executions
    /// follow one another on the device, whatever streams and threads they come from. Integer
    /// outputs are rounded and clamped. Throws DeviceFailure.
    void execute(const void* input, void* output, DeviceStream stream = {}) const;

  private:
    friend class WorkspaceOf;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

struct DeviceFilterOptions {
    int device = 0;
    /// As for FilterBank: with complex signals, or a complex filter, everything is complex.
    PixelType signal_type = PixelType::float32;
};

/// Filters signals of one shape with a bank of filters on one GPU.
class CONVOLUME_API DeviceFilterBank {
  public:
    /// `filters` are in host memory, as FilterBank takes them, and are copied. Everything that
    /// waits for the device happens here. Of the options, max_host_bytes is not used; under
    /// NanPolicy::error signals are not searched for NaN: they propagate; NanPolicy::zero is
    /// refused. A function must be one that device_sample_function() made. Throws as FilterBank
    /// does, and Unavailable when there is no such device or it has no such method.
    DeviceFilterBank(const SignalShape& shape, const std::vector<ConstImageView>& filters,
                     const FilterOptions& options = {}, const DeviceFilterOptions& device = {});
    ~DeviceFilterBank();
    DeviceFilterBank(DeviceFilterBank&&) noexcept;
    DeviceFilterBank& operator=(DeviceFilterBank&&) noexcept;

    const SignalShape& signal_shape() const;
    index_t filters() const;
    index_t taps() const;            ///< as FilterBank::taps()
    index_t origin() const;          ///< as FilterBank::origin()
    SampleRange range() const;       ///< of the full result, before windows
    index_t result_samples() const;  ///< stored for each filter of each signal
    PixelType sample_type() const;   ///< that signals are in: float or complex, of the precision
    PixelType result_type() const;
    /// Device memory held, beside the caller's signals and results.
    index_t device_bytes() const;
    /// The way chosen; its seconds are those of one execution on the device.
    FilterPlan plan() const;

    /// Enqueues the filtering on `stream` and returns: no synchronization, no allocation (but for
    /// plans of cuFFT in a first execution, where filters are too long for shared memory). Arrays
    /// are in the device's memory, contiguous and apart from each other: `signals` is signals ×
    /// samples of sample_type(), `results` signals × filters × result_samples() of result_type(),
    /// `peak_positions` as many indices in the full result, or null. Executions follow one
    /// another on the device, whatever streams and threads they come from. Throws InvalidArgument
    /// (positions of what are no peaks), DeviceFailure.
    void execute(const void* signals, void* results, index_t* peak_positions = nullptr,
                 DeviceStream stream = {}) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

struct DeviceDeconvolveOptions {
    int device = 0;
    PixelType image_type = PixelType::float32;   ///< any real type
    PixelType output_type = PixelType::float32;  ///< any real type
    /// Of what the deconvolver holds beside the caller's images; nothing: most of what is free.
    std::optional<index_t> max_gpu_bytes;
    /// Arrays and the PSF's spectra stay its own.
    WorkspaceOf workspace_of{};
};

/// Deconvolver for images in the memory of one GPU, where all its arrays stay.
class CONVOLUME_API DeviceDeconvolver {
  public:
    /// `psf` is in host memory and is copied. Throws as Deconvolver does, OutOfMemory where the
    /// arrays do not fit, InvalidArgument when the workspace is another device's, and Unavailable
    /// when there is no such device.
    DeviceDeconvolver(const Shape3& image_shape, const ConstImageView& psf,
                      const DeconvolveOptions& options = {},
                      const DeviceDeconvolveOptions& device = {});
    ~DeviceDeconvolver();
    DeviceDeconvolver(DeviceDeconvolver&&) noexcept;
    DeviceDeconvolver& operator=(DeviceDeconvolver&&) noexcept;

    const Shape3& image_shape() const;
    /// Its device_bytes are, of a shared workspace, what it has grown by for this deconvolver.
    DeconvolvePlan plan() const;

    /// Follows what was enqueued on `stream`, and returns when the result is there: the loop looks
    /// at sums as it goes. Image and result are contiguous, in C order, of image_shape() and the
    /// types of the options; where these are as large they may be the same memory. `run` is as for
    /// Deconvolver: an estimate to begin with is in host memory, and so is where estimates are
    /// read. With a background or photon scale that is to be estimated the image is copied to the
    /// host once. Executions follow one another. Throws BadData (NaN), Cancelled, DeviceFailure.
    DeconvolveReport execute(const void* image, void* result, DeviceStream stream = {},
                             const DeconvolveRun& run = {},
                             const ExecutionContext& context = {}) const;

  private:
    friend class WorkspaceOf;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace convolume
