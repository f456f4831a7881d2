// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolution and deconvolution of images, and filtering of signals, that are already in the memory
// of GPUs. After construction, convolution and filtering never wait for the device.

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "convolume/channelizer.hpp"
#include "convolume/deconvolver.hpp"
#include "convolume/export.hpp"
#include "convolume/filter_bank.hpp"
#include "convolume/image_view.hpp"
#include "convolume/options.hpp"
#include "convolume/resample.hpp"

struct CUstream_st;  // declared by CUDA; a cudaStream_t is a pointer to it

namespace convolume {

/// A CUDA stream. A cudaStream_t converts to it; without one it is CUDA's default stream.
/// @code{.cpp}
/// cudaStream_t stream = nullptr;
/// cudaStreamCreate(&stream);
/// const DeviceStream own(stream), by_default;
/// assert(own.get() == stream && by_default.get() == nullptr);
/// cudaStreamDestroy(stream);
/// @endcode
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
class DeviceWorkspace;  // device memory that executions overwrite

/// The workspace that a convolver or deconvolver shares with another one on the same device.
/// Without one, it gets a workspace of its own. A workspace takes most of a convolver's memory. Its
/// size is the largest that a sharer needs. If the largest sharer is made after others, the
/// workspace grows; old and new memory then exist at once if there is room.
///
/// Sharers may be used from any CUDA stream and thread, also in callbacks of a deconvolution, and
/// may be destroyed in any order. On the device their executions follow one another. Other
/// executions may run between the iterations of a deconvolution, which then computes again the data
/// that they overwrote.
/// @code{.cpp}
/// Volume psf({5, 5, 5}, PixelType::float32);
/// std::fill_n(psf.elements<float>(), 125, 1.0F);
/// const DeviceDeconvolver deconvolver({16, 64, 64}, psf.view());
/// DeviceOptions options;
/// options.workspace_of = &deconvolver;
/// const DeviceConvolver blur({16, 64, 64}, psf.view(), {}, options);
/// assert(blur.device_bytes() < deconvolver.plan().device_bytes);
/// @endcode
class CONVOLUME_API WorkspaceOf {
  public:
    WorkspaceOf() = default;
    WorkspaceOf(const DeviceConvolver* convolver);      ///< if null, a new workspace is used
    WorkspaceOf(const DeviceDeconvolver* deconvolver);  ///< if null, a new workspace is used
    explicit WorkspaceOf(std::shared_ptr<DeviceWorkspace> workspace)
        : workspace_(std::move(workspace)) {}
    const std::shared_ptr<DeviceWorkspace>& get() const { return workspace_; }

  private:
    std::shared_ptr<DeviceWorkspace> workspace_;
};

/// The planes of an image and of its result that one GPU holds. A slab's arrays are contiguous, in
/// C order, of the shapes (input_planes, y, x) and (output_planes, y, x).
struct DeviceSlab {
    int device = 0;  ///< CUDA's device number
    index_t input_begin = 0, input_planes = 0;
    index_t output_begin = 0, output_planes = 0;
    index_t device_bytes = 0;  ///< bytes that the convolver holds on the GPU for this slab
};

/// Options of DeviceConvolver beside those of the convolution.
struct DeviceOptions {
    int device = 0;  ///< CUDA's device number
    /// Several GPUs, at best connected by NVLink. Image and result are slabs along z, one for each
    /// GPU in this order. Each GPU needs memory for its part, and for as many neighboring planes as
    /// the kernel reaches; without the memory for these, the work is divided in a slower way. The
    /// constructor lets the GPUs access each other's memory (cudaDeviceEnablePeerAccess), for the
    /// whole process. A GPU that is named n times has n slabs. If empty, `device` is the only GPU.
    std::vector<int> devices{};
    /// The number of planes of the input, and of the result, in each slab. They may be 0. If not
    /// given, planes are divided evenly. Slabs near that division are fastest.
    std::vector<index_t> input_planes{}, output_planes{};
    PixelType image_type = PixelType::float32;
    /// Type of results. If not given, the natural type, see Convolver::natural_output_type().
    std::optional<PixelType> output_type;
    /// Keeps the whole spectrum of the kernel where executions are predicted to be faster with it,
    /// and memory allows it. Otherwise, and if false, only the spectra of the kernel's own planes
    /// are kept, and executions transform them along z: with half the memory, they take from a
    /// tenth less to a fifth longer.
    bool keep_kernel_spectrum = true;
    /// The kernel comes with each execution, in the device's memory, and is transformed there. The
    /// constructor takes a view of its shape and type without samples. The kernel is not searched
    /// for NaN, which propagate. Options that need the samples are refused: normalization, the
    /// centers peak, centroid and corner, a constant boundary other than 0, and the conjugation of
    /// a complex kernel.
    bool kernel_on_device = false;
    /// Bytes of each GPU's memory that the convolver may take, beside the caller's images. If not
    /// given, most of the free memory.
    std::optional<index_t> max_gpu_bytes;
    WorkspaceOf workspace_of{};  ///< only on one GPU
};

/// Convolves images of one shape with one kernel on one GPU, or on several that share the image and
/// the work. If a loop also needs the adjoint, make a second convolver with Operation::adjoint.
/// Both may use one CUDA stream, and share a workspace (DeviceOptions::workspace_of).
/// @code{.cpp}
/// const Shape3 shape{16, 64, 64};
/// Volume kernel({3, 3, 3}, PixelType::float32);
/// std::fill_n(kernel.elements<float>(), 27, 1 / 27.0F);
/// const DeviceConvolver blur(shape, kernel.view());
/// float* image = nullptr;
/// cudaMalloc(&image, element_count(shape) * sizeof(float));
/// cudaMemset(image, 0, element_count(shape) * sizeof(float));
/// blur.execute(image, image);
/// blur.execute(image, image);  // follows the first one on the device
/// cudaDeviceSynchronize();
/// cudaFree(image);
/// @endcode
class CONVOLUME_API DeviceConvolver {
  public:
    /// Plans, allocates, and transforms the kernel. `image_shape` is the shape (z, y, x) of the
    /// image that Operation::convolve takes, for all operations. `kernel` is in host memory and is
    /// copied. Only the constructor waits for the device. Options::method is not used. Under
    /// NanPolicy::error images are not searched for NaN, which propagate. Throws as Convolver does,
    /// InvalidArgument if the workspace is on another device, and Unavailable if there is no such
    /// device. With several GPUs, throws Unavailable if the grid is longer than 4096 along y or
    /// than 8192 along x, or if a slab and the planes that it depends on are more than 4096 (in
    /// double precision, half of that). GPUs that do not reach each other's memory exchange planes
    /// through the host. They throw Unavailable if results depend on all planes, or if they are
    /// folded: the adjoint with a boundary that continues the image.
    DeviceConvolver(const Shape3& image_shape, const ConstImageView& kernel,
                    const Options& options = {}, const DeviceOptions& device = {});
    ~DeviceConvolver();
    DeviceConvolver(DeviceConvolver&&) noexcept;
    DeviceConvolver& operator=(DeviceConvolver&&) noexcept;

    const Shape3& input_shape() const;   ///< returns the shape that execute() takes
    const Shape3& output_shape() const;  ///< returns the shape that execute() gives
    PixelType output_type() const;
    /// Returns the bytes of device memory that the convolver holds, beside the caller's images; of
    /// several GPUs, on the one that holds most. They include the bytes by which a shared workspace
    /// has grown for this convolver.
    index_t device_bytes() const;
    /// Returns the slabs of image and result, one for each GPU; on one GPU, all planes.
    const std::vector<DeviceSlab>& slabs() const;
    /// Returns the padded size of the transforms. With several GPUs those along z may be shorter:
    /// of a GPU's planes and the ones beside them.
    const Shape3& grid() const;

    /// Enqueues one convolution on the CUDA stream `stream` and returns: no synchronization, no
    /// allocation. Both images are in the device's memory, contiguous and in C order. `input` has
    /// input_shape() and the image type, `output` has output_shape() and output_type(). They may be
    /// the same memory if their sizes in bytes are equal. Executions follow one another on the
    /// device, also those from other CUDA streams and threads. Integer outputs are rounded and
    /// clamped. Throws DeviceFailure.
    void execute(const void* input, void* output, DeviceStream stream = {}) const;
    /// As execute(), with a kernel in the device's memory, contiguous and in C order. Only for
    /// convolvers with DeviceOptions::kernel_on_device, which have no other executions.
    void execute_with_kernel(const void* input, const void* kernel, void* output,
                             DeviceStream stream = {}) const;

    /// As execute(), for several GPUs: `inputs`, `outputs` and `streams` have an element for each
    /// of slabs(), in the memory of its GPU. Slabs without planes may be null. Without streams,
    /// each GPU's default stream is used. A GPU reads and writes only its own slabs of the caller,
    /// after the earlier work on its stream. Every stream goes on when all GPUs are done, so that
    /// waiting for one stream is enough. If a GPU fails, the streams report CUDA's error.
    /// @code{.cpp}
    /// int gpus = 0;
    /// cudaGetDeviceCount(&gpus);
    /// DeviceOptions spread;
    /// if (gpus > 1) spread.devices = {0, 1};
    /// Volume mean({3, 3, 3}, PixelType::float32);
    /// std::fill_n(mean.elements<float>(), 27, 1 / 27.0F);
    /// const DeviceConvolver blur({16, 64, 64}, mean.view(), {}, spread);
    /// std::vector<const void*> inputs;
    /// std::vector<void*> outputs;
    /// for (const DeviceSlab& slab : blur.slabs()) {
    ///     void* image = nullptr;
    ///     cudaSetDevice(slab.device);
    ///     cudaMalloc(&image, slab.input_planes * 64 * 64 * sizeof(float));
    ///     cudaMemset(image, 0, slab.input_planes * 64 * 64 * sizeof(float));
    ///     inputs.push_back(image);
    ///     outputs.push_back(image);
    /// }
    /// blur.execute(inputs, outputs);
    /// cudaDeviceSynchronize();
    /// for (void* image : outputs) cudaFree(image);
    /// cudaSetDevice(0);
    /// @endcode
    void execute(std::span<const void* const> inputs, std::span<void* const> outputs,
                 std::span<const DeviceStream> streams = {}) const;
    /// As execute() for several GPUs, with a kernel in the memory of the first one.
    void execute_with_kernel(std::span<const void* const> inputs, const void* kernel,
                             std::span<void* const> outputs,
                             std::span<const DeviceStream> streams = {}) const;

  private:
    friend class WorkspaceOf;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Options of DeviceFilterBank beside those of the filters.
struct DeviceFilterOptions {
    int device = 0;  ///< CUDA's device number
    /// Type of the signals, as for FilterBank. Results are complex if it or a filter is.
    PixelType signal_type = PixelType::float32;
};

/// Filters signals of one shape with a bank of filters on one GPU.
/// @code{.cpp}
/// const index_t samples = 1 << 20;
/// const std::vector<float> mean(64, 1 / 64.0F);
/// const DeviceFilterBank bank({1, samples}, {view_of(mean.data(), {1, 1, 64})});
/// float *signal = nullptr, *results = nullptr;
/// cudaMalloc(&signal, samples * sizeof(float));
/// cudaMalloc(&results, bank.result_samples() * sizeof(float));
/// cudaMemset(signal, 0, samples * sizeof(float));
/// bank.execute(signal, results);
/// cudaDeviceSynchronize();
/// cudaFree(results);
/// cudaFree(signal);
/// @endcode
class CONVOLUME_API DeviceFilterBank {
  public:
    /// Plans, allocates, and transforms the filters. `filters` are in host memory, of shapes that
    /// FilterBank takes, and are copied. Only the constructor waits for the device.
    /// FilterOptions::max_host_bytes is not used. Under NanPolicy::error signals are not searched
    /// for NaN, which propagate; NanPolicy::zero is refused. FilterOptions::function must come from
    /// device_sample_function(). Throws as FilterBank does, and Unavailable if there is no such
    /// device or if it does not have the method.
    DeviceFilterBank(const SignalShape& shape, const std::vector<ConstImageView>& filters,
                     const FilterOptions& options = {}, const DeviceFilterOptions& device = {});
    ~DeviceFilterBank();
    DeviceFilterBank(DeviceFilterBank&&) noexcept;
    DeviceFilterBank& operator=(DeviceFilterBank&&) noexcept;

    const SignalShape& signal_shape() const;
    index_t filters() const;    ///< returns the number of filters
    index_t taps() const;       ///< returns M, as FilterBank::taps()
    index_t origin() const;     ///< returns the filters' origin, as FilterBank::origin()
    SampleRange range() const;  ///< returns the range of results, as FilterBank::range()
    /// Returns the number of stored samples, as FilterBank::result_samples().
    index_t result_samples() const;
    /// Returns the type of the elements of signals that execute() takes: real or complex, of the
    /// precision, or that of FilterOptions::signal_storage.
    PixelType sample_type() const;
    PixelType result_type() const;  ///< as FilterBank::result_type()
    /// Return the number of elements of a sample: 2 for complex ones of 16 bits, else 1.
    index_t sample_elements() const;
    index_t result_elements() const;
    /// Waits for the CUDA stream `stream`. Returns how many results of all executions were clamped
    /// to the range of int16.
    ClampCount clamped(DeviceStream stream = {}) const;
    /// Returns the bytes of device memory that the bank holds, beside the caller's arrays.
    index_t device_bytes() const;
    /// Returns the plan. Its seconds are those of one execution on the device.
    FilterPlan plan() const;

    /// Enqueues the filtering on the CUDA stream `stream` and returns: no synchronization, no
    /// allocation. Only the first execution with filters too long for shared memory makes cuFFT
    /// plans. Arrays are in the device's memory, contiguous, and do not overlap. `signals` has the
    /// shape (signals, samples) and the type sample_type(). `results` has the shape (signals,
    /// filters, result_samples()) and the type result_type(). `peak_positions` gets the position of
    /// each result in the full result, or is null. Executions follow one another on the device,
    /// also those from other CUDA streams and threads. Throws InvalidArgument (positions without
    /// peaks) or DeviceFailure.
    void execute(const void* signals, void* results, index_t* peak_positions = nullptr,
                 DeviceStream stream = {}) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Resamples signals on one GPU.
/// @code{.cpp}
/// const index_t samples = 147000, results = 160000;
/// const std::vector<double> taps = resample_taps(160, 147);
/// ResampleOptions options;
/// options.up = 160;
/// options.down = 147;
/// options.origin = static_cast<index_t>(taps.size() / 2);
/// const DeviceResampler resampler(view_of(taps.data(), {1, 1, index_t(taps.size())}), options);
/// float *signal = nullptr, *resampled = nullptr;
/// cudaMalloc(&signal, samples * sizeof(float));
/// cudaMalloc(&resampled, results * sizeof(float));
/// cudaMemset(signal, 0, samples * sizeof(float));
/// resampler.execute({1, samples}, signal, results, resampled);
/// cudaDeviceSynchronize();
/// cudaFree(resampled);
/// cudaFree(signal);
/// @endcode
class CONVOLUME_API DeviceResampler {
  public:
    /// Prepares the filter, as Resampler does. ResampleOptions::threads is not used. Throws as
    /// Resampler does, and Unavailable if there is no such device.
    explicit DeviceResampler(const ConstImageView& taps, const ResampleOptions& options = {},
                             const DeviceFilterOptions& device = {});
    ~DeviceResampler();
    DeviceResampler(DeviceResampler&&) noexcept;
    DeviceResampler& operator=(DeviceResampler&&) noexcept;

    index_t full_results(index_t samples) const;  ///< as Resampler::full_results()
    index_t same_results(index_t samples) const;  ///< as Resampler::same_results()
    /// Returns the type of signals and results: complex if signals or filter are.
    PixelType sample_type() const;
    /// Returns the bytes of device memory that the resampler holds, beside the caller's arrays.
    index_t device_bytes() const;
    /// Enqueues the resampling on the CUDA stream `stream` and returns: no synchronization, no
    /// allocation. Arrays are in the device's memory, contiguous, of sample_type(), and do not
    /// overlap. `samples` has `shape`, and `results` has the shape (shape.signals, count). Throws
    /// InvalidArgument or DeviceFailure.
    void execute(const SignalShape& shape, const void* samples, index_t count, void* results,
                 DeviceStream stream = {}) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Options of DeviceChannelizer beside those of the channels.
struct DeviceChannelizerOptions {
    int device = 0;  ///< CUDA's device number
    /// Type of the signals: real or complex numbers of the precision, or int8 or int16 if
    /// ChannelizerOptions::interleaved is set.
    PixelType signal_type = PixelType::complex64;
    index_t signals = 1;  ///< number of signals
    bool tail = false;    ///< also frames after the end of the signals that depend on them
};

/// Divides signals of one shape in the memory of one GPU. Powers of two from 256 to 16384 channels
/// (8192 in double precision) are computed by one CUDA kernel, which reads the signal about once.
/// @code{.cpp}
/// const index_t samples = 1 << 20;
/// ChannelizerOptions options;
/// options.channels = 1024;
/// const DeviceChannelizer channelizer(options, samples);
/// std::complex<float>*signal = nullptr, *frames = nullptr;
/// cudaMalloc(&signal, samples * sizeof(*signal));
/// cudaMalloc(&frames, channelizer.frames() * 1024 * sizeof(*frames));
/// cudaMemset(signal, 0, samples * sizeof(*signal));
/// channelizer.execute(signal, frames);
/// cudaDeviceSynchronize();
/// cudaFree(frames);
/// cudaFree(signal);
/// @endcode
class CONVOLUME_API DeviceChannelizer {
  public:
    /// Plans, and copies the prototype. Only the constructor waits for the device. Under
    /// NanPolicy::error signals are not searched for NaN, which propagate; NanPolicy::zero is
    /// refused. Throws as Channelizer does, and Unavailable if there is no such device.
    DeviceChannelizer(const ChannelizerOptions& options, index_t samples,
                      const DeviceChannelizerOptions& device = {});
    ~DeviceChannelizer();
    DeviceChannelizer(DeviceChannelizer&&) noexcept;
    DeviceChannelizer& operator=(DeviceChannelizer&&) noexcept;

    const ChannelizerPlan& plan() const;
    index_t frames() const;  ///< returns the number of frames of each signal
    /// Returns the bytes of device memory that are held, beside the caller's arrays.
    index_t device_bytes() const;

    /// Enqueues the work on the CUDA stream `stream` and returns: no synchronization, no
    /// allocation. Arrays are in the device's memory, contiguous, and do not overlap: signals ×
    /// samples, and signals × frames() × stored_channels. Throws InvalidArgument or DeviceFailure.
    void execute(const void* signals, void* frames, DeviceStream stream = {}) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Options of DeviceSynthesizer beside those of the channels.
struct DeviceSynthesizerOptions {
    int device = 0;  ///< CUDA's device number
    /// Type of the signals: real or complex numbers of the precision. Pairs of real numbers if
    /// ChannelizerOptions::interleaved is set.
    PixelType signal_type = PixelType::complex64;
    index_t signals = 1;  ///< number of signals
    /// Samples of each signal. If not given, those that the frames determine:
    /// Synthesizer::samples().
    std::optional<index_t> samples{};
    std::vector<double> synthesis_taps{};  ///< if empty, those of dual_prototype()
};

/// Puts signals together from the frames that a DeviceChannelizer of the same options gives, as
/// Synthesizer does, in the memory of one GPU. Frames are transformed back by cuFFT, some at a
/// time.
/// @code{.cpp}
/// const index_t samples = 1 << 20;
/// ChannelizerOptions options;
/// options.channels = 1024;
/// options.step = 512;
/// const DeviceChannelizer channelizer(options, samples, {.tail = true});
/// const DeviceSynthesizer synthesizer(options, channelizer.frames(), {.samples = samples});
/// std::complex<float>*signal = nullptr, *frames = nullptr;
/// cudaMalloc(&signal, samples * sizeof(*signal));
/// cudaMalloc(&frames, channelizer.frames() * 1024 * sizeof(*frames));
/// cudaMemset(signal, 0, samples * sizeof(*signal));
/// channelizer.execute(signal, frames);
/// synthesizer.execute(frames, signal);
/// cudaDeviceSynchronize();
/// assert(synthesizer.error() < 1e-6);
/// cudaFree(frames);
/// cudaFree(signal);
/// @endcode
class CONVOLUME_API DeviceSynthesizer {
  public:
    /// Plans for `frames` frames of each signal, and copies the taps. Only the constructor waits
    /// for the device. Throws as Synthesizer does, OutOfMemory, and Unavailable if there is no such
    /// device.
    DeviceSynthesizer(const ChannelizerOptions& options, index_t frames,
                      const DeviceSynthesizerOptions& device = {});
    ~DeviceSynthesizer();
    DeviceSynthesizer(DeviceSynthesizer&&) noexcept;
    DeviceSynthesizer& operator=(DeviceSynthesizer&&) noexcept;

    const ChannelizerPlan& plan() const;
    /// Returns DualPrototype::error; nothing for the caller's taps.
    std::optional<double> error() const;
    index_t samples() const;  ///< returns the number of samples of each signal
    /// Returns the bytes of device memory that are held, beside the caller's arrays.
    index_t device_bytes() const;

    /// Enqueues the work on the CUDA stream `stream` and returns: no synchronization, no
    /// allocation. Arrays are in the device's memory, contiguous, and do not overlap: signals ×
    /// frames × stored_channels of the plan's frame_type, and signals × samples() of its
    /// signal_type. Executions follow one another on the device, because they share a workspace.
    /// Samples that need frames after the last one are computed as if these were zero. Throws
    /// InvalidArgument or DeviceFailure.
    void execute(const void* frames, void* signals, DeviceStream stream = {}) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Options of DeviceDeconvolver beside those of the deconvolution.
struct DeviceDeconvolveOptions {
    int device = 0;                              ///< CUDA's device number
    PixelType image_type = PixelType::float32;   ///< type of the image, any real one
    PixelType output_type = PixelType::float32;  ///< type of the result, any real one
    /// Bytes of device memory that the deconvolver may take, beside the caller's images. If not
    /// given, most of the free memory.
    std::optional<index_t> max_gpu_bytes;
    /// Workspace to share. Arrays of the deconvolution and spectra of the PSF are never shared.
    WorkspaceOf workspace_of{};
};

/// Deconvolves images in the memory of one GPU, in which all its arrays stay.
/// @code{.cpp}
/// const Shape3 shape{16, 64, 64};
/// Volume psf({5, 5, 5}, PixelType::float32);
/// std::fill_n(psf.elements<float>(), 125, 1.0F);
/// const std::vector<float> recorded(element_count(shape), 100.0F);
/// float* image = nullptr;
/// cudaMalloc(&image, recorded.size() * sizeof(float));
/// cudaMemcpy(image, recorded.data(), recorded.size() * sizeof(float), cudaMemcpyDefault);
/// const DeviceDeconvolver deconvolver(shape, psf.view());
/// const DeconvolveReport report = deconvolver.execute(image, image);
/// std::cout << report.iterations << " iterations\n";
/// cudaFree(image);
/// @endcode
class CONVOLUME_API DeviceDeconvolver {
  public:
    /// Plans, allocates, and transforms the PSF. `image_shape` and the shape of `psf` are z, y, x.
    /// `psf` is in host memory and is copied. Throws as Deconvolver does, and OutOfMemory if the
    /// arrays do not fit. Throws InvalidArgument if the workspace is on another device, and
    /// Unavailable if there is no such device.
    DeviceDeconvolver(const Shape3& image_shape, const ConstImageView& psf,
                      const DeconvolveOptions& options = {},
                      const DeviceDeconvolveOptions& device = {});
    ~DeviceDeconvolver();
    DeviceDeconvolver(DeviceDeconvolver&&) noexcept;
    DeviceDeconvolver& operator=(DeviceDeconvolver&&) noexcept;

    const Shape3& image_shape() const;
    /// Returns the plan. Its device_bytes include the bytes by which a shared workspace has grown
    /// for this deconvolver.
    DeconvolvePlan plan() const;

    /// Deconvolves one image after the work that was enqueued on the CUDA stream `stream`. Returns
    /// when the result is written, since iterations read sums from the device. `image` and `result`
    /// are in the device's memory, contiguous and in C order, of image_shape() and the types of the
    /// options. They may be the same memory if their types have equal size. `run` is as for
    /// Deconvolver; its initial estimate, and views into which estimates are read, are in host
    /// memory. To estimate a background or photon scale, the image is copied to the host once.
    /// Executions follow one another. Throws BadData (NaN), Cancelled, or DeviceFailure.
    DeconvolveReport execute(const void* image, void* result, DeviceStream stream = {},
                             const DeconvolveRun& run = {},
                             const ExecutionContext& context = {}) const;

  private:
    friend class WorkspaceOf;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace convolume
