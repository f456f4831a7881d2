// SPDX-License-Identifier: Apache-2.0
#pragma once
// Polyphase filter banks: a signal is divided into M channels of equal width, and is put together
// again. One prototype, a lowpass h of P·M taps, is moved to the center of every channel. Channel m
// is at frequency m/M of the sampling rate, and a frame holds one sample of every channel:
//
//     y[n, m] = Σ_l h[l] x[t(n) − l] e^{−2πi m (t(n) − l)/M},    t(n) = first + nD,  l = 0 … PM−1
//
// The signal x is zero before sample 0 and after its end. Phases refer to sample 0 of the signal,
// so that a tone at the center of a channel gives a constant. D is the step between frames:
// critically sampled for D = M, and oversampled by M/D for D < M. Real signals have the channels 0
// … M/2; the others are their conjugates.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/engines.hpp"
#include "convolume/execution.hpp"
#include "convolume/export.hpp"
#include "convolume/image_view.hpp"
#include "convolume/options.hpp"

namespace convolume {

/// The window that a prototype is multiplied by.
struct PrototypeWindow {
    /// The shape of the window, symmetric as in scipy.signal.get_window(…, fftbins=False).
    enum class Kind {
        hamming,      ///< 0.54 − 0.46 cos
        hann,         ///< 0.5 − 0.5 cos
        kaiser,       ///< Kaiser's window of parameter `beta`
        rectangular,  ///< no window
    };
    Kind kind = Kind::hamming;
    double beta = 0;  ///< parameter of `kaiser`, at least 0
    friend bool operator==(const PrototypeWindow&, const PrototypeWindow&) = default;
};
/// Returns the text that parse_prototype_window() takes.
CONVOLUME_API std::string to_string(const PrototypeWindow&);
/// Parses "hamming", "hann", "kaiser:BETA" or "rectangular". Throws InvalidArgument, which lists
/// these, for others.
CONVOLUME_API PrototypeWindow parse_prototype_window(std::string_view);

/// Parses a number of a sample, at least 0. Throws InvalidArgument for other texts.
CONVOLUME_API index_t parse_first_sample(std::string_view);

/// Options of Channelizer and Synthesizer.
/// @code{.cpp}
/// ChannelizerOptions options;
/// options.channels = 64;
/// options.step = 48;  // oversampled by 4/3
/// options.window = parse_prototype_window("kaiser:9");
/// @endcode
struct ChannelizerOptions {
    index_t channels = 0;          ///< M, the number of channels of a complex signal
    index_t taps_per_channel = 8;  ///< P; not used if a prototype is given
    index_t step = 0;              ///< D, samples from frame to frame, at most M; 0: M
    index_t first = 0;             ///< t(0), the last sample that frame 0 depends on
    PrototypeWindow window{};      ///< window of prototype_filter(); not used with a prototype
    /// Taps h, of any number. If empty, those of prototype_filter().
    std::vector<double> prototype;
    /// Real signals hold pairs of numbers, the real and the imaginary part of complex samples, as
    /// receivers record them.
    bool interleaved = false;
    Precision precision = Precision::float32;
    NanPolicy nan = NanPolicy::error;
};

/// Returns a prototype of P·M taps: a sinc whose response falls to one half at the edges of a
/// channel, multiplied by a window and divided by its sum. A tone at the center of a channel
/// therefore keeps its amplitude. The taps are those of scipy.signal.firwin(P·M, 1/M). Throws
/// InvalidArgument for numbers below 1.
/// @code{.cpp}
/// const std::vector<double> taps = prototype_filter(16, 8);
/// assert(taps.size() == 128 && std::abs(taps[63] - taps[64]) < 1e-15);
/// @endcode
CONVOLUME_API std::vector<double> prototype_filter(index_t channels, index_t taps_per_channel,
                                                   const PrototypeWindow& window = {});

/// Taps of a synthesis, and how well it reconstructs.
struct DualPrototype {
    std::vector<double> taps;
    /// RMS of the error of a reconstructed signal, relative to that of a white signal.
    double error = 0;
};
/// Returns the taps f, as many as `prototype` has, for which Synthesizer reconstructs the signal
/// best: a least-squares problem for each of the D phases, of which the solution has the least
/// norm. Reconstruction is exact, up to rounding, for prototypes of P·M taps and M/D ≥ 2 − 1/P;
/// closer to critical sampling it is approximate. Throws InvalidArgument.
/// @code{.cpp}
/// assert(dual_prototype(prototype_filter(16, 8), 16, 8).error < 1e-9);
/// @endcode
CONVOLUME_API DualPrototype dual_prototype(const std::vector<double>& prototype, index_t channels,
                                           index_t step);

/// How a signal is divided into channels.
struct CONVOLUME_API ChannelizerPlan {
    index_t channels = 0;          ///< M
    index_t stored_channels = 0;   ///< M, or M/2 + 1 (rounded down) of real signals
    index_t taps_per_channel = 0;  ///< P
    index_t step = 0;              ///< D
    index_t first = 0;             ///< t(0)
    double first_middle = 0;  ///< middle of the samples that frame 0 depends on, t(0) − (L − 1)/2
    PixelType signal_type = PixelType::complex64;  ///< type of samples in computation
    PixelType frame_type = PixelType::complex64;   ///< type of frames
    std::string engine;                            ///< what computes, such as "cpu:0"
    std::string method;                            ///< such as "sums and own transforms"
    /// Returns the center frequency of a channel in cycles per sample: m/M, and above M/2 m/M − 1.
    double center_frequency(index_t channel) const;
    std::string to_string() const;  ///< returns a few lines for people
};

/// Divides signals into channels. Immutable after construction: execute() may be called from
/// several threads. Signals in host memory are computed on the CPU, signals in a GPU's memory by
/// DeviceChannelizer.
/// @code{.cpp}
/// ChannelizerOptions options;
/// options.channels = 8;
/// const Channelizer channelizer(options);
/// std::vector<std::complex<float>> tone(800);
/// for (std::size_t t = 0; t < tone.size(); ++t)
///     tone[t] = std::polar(1.0F, 2 * 3.14159265F * 3 * static_cast<float>(t % 8) / 8);
/// Volume frames({1, channelizer.frames(800), 8}, PixelType::complex64);
/// channelizer.execute(view_of(tone.data(), {1, 1, 800}), frames.view());
/// const auto* last = frames.elements<std::complex<float>>() + 99 * 8;
/// assert(std::abs(last[3] - 1.0F) < 1e-4 && std::abs(last[5]) < 1e-2);
/// @endcode
class CONVOLUME_API Channelizer {
  public:
    /// Plans for signals of type `signal_type`. Throws InvalidArgument (options), BadData (NaN in
    /// the prototype) or Unavailable (only GPUs are allowed).
    explicit Channelizer(const ChannelizerOptions& options,
                         PixelType signal_type = PixelType::complex64,
                         const EngineChoice& engines = {});

    const ChannelizerPlan& plan() const;
    /// Returns the number of frames of `samples` samples: those with t(n) < samples. With `tail`,
    /// also the later ones that depend on the signal.
    index_t frames(index_t samples, bool tail = false) const;

    /// Divides signals in memory. `signals` has the shape (1, signals, samples), with 2·samples
    /// numbers if they are interleaved, and any type, but no complex one if the plan is real.
    /// `frames` has the shape (signals, N, stored_channels), N ≤ frames(samples, true), the plan's
    /// frame_type and contiguous x. Throws InvalidArgument, BadData (NaN under NanPolicy::error),
    /// OutOfMemory, or Cancelled.
    ExecutionReport execute(const ConstImageView& signals, const ImageView& frames,
                            const ExecutionContext& context = {}) const;

  private:
    friend class ChannelizerStream;
    struct Impl;
    std::shared_ptr<const Impl> impl_;
};

/// Divides signals that come in blocks. The frames are those of one call, bit by bit.
/// @code{.cpp}
/// ChannelizerOptions options;
/// options.channels = 8;
/// const Channelizer channelizer(options);
/// ChannelizerStream stream(channelizer);
/// const std::vector<std::complex<float>> block(100);
/// Volume frames({1, stream.frames(100), 8}, PixelType::complex64);
/// stream.push(view_of(block.data(), {1, 1, 100}), frames.view());
/// assert(stream.frames(3) == 0 && stream.frames(5) == 1);  // frame 13 ends with sample 104
/// @endcode
class CONVOLUME_API ChannelizerStream {
  public:
    /// Starts before sample 0 of `signals` signals. It keeps what it needs of `channelizer`.
    explicit ChannelizerStream(const Channelizer& channelizer, index_t signals = 1);

    /// Returns the number of frames that the next push() of `samples` samples gives.
    index_t frames(index_t samples) const;
    /// Takes the next samples, as Channelizer::execute() does, and writes the frames that are now
    /// complete. If it throws, the samples are not taken.
    ExecutionReport push(const ConstImageView& signals, const ImageView& frames,
                         const ExecutionContext& context = {});
    void reset();  ///< starts again before sample 0

  private:
    struct Impl;
    Hidden<Impl> impl_;
};

/// Puts a signal together from the frames that a Channelizer of the same options gives:
///
///     x[t] = Σ_n f[t(n) − t] Σ_m y[n, m] e^{+2πi m t/M},    0 ≤ t(n) − t < PM
///
/// The taps f are those of dual_prototype(), or the caller's. Frames in a GPU's memory are put
/// together by DeviceSynthesizer.
/// @code{.cpp}
/// ChannelizerOptions options;
/// options.channels = 8;
/// options.step = 4;
/// std::vector<float> noise(100);
/// for (std::size_t t = 0; t < noise.size(); ++t) noise[t] = static_cast<float>(t * t % 17);
/// const Channelizer channelizer(options, PixelType::float32);
/// Volume frames({1, channelizer.frames(100, true), 5}, PixelType::complex64);
/// channelizer.execute(view_of(noise.data(), {1, 1, 100}), frames.view());
/// const Synthesizer synthesizer(options, PixelType::float32);
/// Volume again({1, 1, 100}, PixelType::float32);
/// synthesizer.execute(frames.view(), again.view());
/// assert(std::abs(again.elements<float>()[50] - noise[50]) < 1e-4);
/// @endcode
class CONVOLUME_API Synthesizer {
  public:
    /// Plans for signals of type `signal_type`, real or complex. Throws as Channelizer does.
    explicit Synthesizer(const ChannelizerOptions& options,
                         PixelType signal_type = PixelType::complex64,
                         const EngineChoice& engines = {},
                         const std::vector<double>& synthesis_taps = {});

    const ChannelizerPlan& plan() const;
    /// Returns DualPrototype::error; nothing for the caller's taps.
    std::optional<double> error() const;
    /// Returns the taps f: P·M taps, of which the last ones are zero if the caller gave fewer.
    const std::vector<double>& synthesis_taps() const;
    /// Returns the number of samples that `frames` frames determine: t < t(frames) − PM + 1.
    index_t samples(index_t frames) const;

    /// Computes samples 0 … of signals. `frames` has the shape (signals, N, stored_channels) and a
    /// complex type, `signals` the shape (1, signals, any), the plan's signal_type and contiguous
    /// x. Samples that need frames after the last one are computed as if these were zero. Throws
    /// InvalidArgument, OutOfMemory, or Cancelled.
    ExecutionReport execute(const ConstImageView& frames, const ImageView& signals,
                            const ExecutionContext& context = {}) const;

  private:
    friend class SynthesizerStream;
    struct Impl;
    std::shared_ptr<const Impl> impl_;
};

/// Puts signals together from frames that come in blocks. The samples are those of one call, bit by
/// bit.
class CONVOLUME_API SynthesizerStream {
  public:
    /// Starts before frame 0 of `signals` signals. It keeps what it needs of `synthesizer`.
    explicit SynthesizerStream(const Synthesizer& synthesizer, index_t signals = 1);

    /// Returns the number of samples that the next push() of `frames` frames gives.
    index_t samples(index_t frames) const;
    /// Takes the next frames, as Synthesizer::execute() does, and writes the samples that are now
    /// determined. If it throws, the frames are not taken.
    ExecutionReport push(const ConstImageView& frames, const ImageView& signals,
                         const ExecutionContext& context = {});
    void reset();  ///< starts again before frame 0

  private:
    struct Impl;
    Hidden<Impl> impl_;
};

}  // namespace convolume
