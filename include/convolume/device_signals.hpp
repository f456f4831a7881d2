// SPDX-License-Identifier: Apache-2.0
#pragma once
// Filtering of signals that are already in the memory of a GPU. After construction, it never waits
// for the device.

#include <optional>
#include <vector>

#include "convolume/channelizer.hpp"
#include "convolume/device_stream.hpp"
#include "convolume/export.hpp"
#include "convolume/filter_bank.hpp"
#include "convolume/image_view.hpp"
#include "convolume/resample.hpp"

namespace convolume {

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
    Hidden<Impl> impl_;
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
    Hidden<Impl> impl_;
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
    Hidden<Impl> impl_;
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
    Hidden<Impl> impl_;
};

}  // namespace convolume
