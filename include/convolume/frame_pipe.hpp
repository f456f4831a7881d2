// SPDX-License-Identifier: Apache-2.0
#pragma once
// Channels of samples that pass through open file descriptors, such as standard input and standard
// output, as frames: one sample of each channel. They are raw samples or WAV.

#include <memory>
#include <optional>

#include "convolume/export.hpp"
#include "convolume/image_view.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::io {

/// Reads frames from a descriptor, each once.
class CONVOLUME_API FrameReader {
  public:
    virtual ~FrameReader() = default;
    /// Returns the metadata. The channels have unknown_samples.
    virtual const SignalInfo& info() const = 0;
    /// Waits for `frames` frames and stores them in `channels`, of the shape (1, channels, frames
    /// or more) and of info().type or a wider type. Returns fewer frames only at the end of the
    /// input.
    virtual index_t read(index_t frames, const ImageView& channels) = 0;
    /// Throws BadData if the input ended within a frame, or before the end that its header names.
    virtual void check_end() const = 0;
    /// Makes reads that wait throw Cancelled, now and later. Another thread calls it.
    virtual void cancel() = 0;
};

/// Opens frames that come from a descriptor: raw samples if options.raw_type is given, of
/// options.raw_signals channels (by default one), else WAV (RIFF or RF64), whose header tells their
/// number and is read at once. The descriptor is not closed. Throws InvalidArgument (no raw_type
/// and no WAV, signals that are not interleaved), BadData (a damaged header), or IoError.
/// @code{.cpp}
/// int ends[2];
/// if (pipe(ends) != 0) throw std::runtime_error("there is no pipe");
/// const std::vector<float> channels = {1, 2, 3, 4};  // left: 1, 2; right: 3, 4
/// io::FrameFormat format;
/// format.channels = 2;
/// format.wav_rate_hz = 48000;
/// const auto writer = io::create_frame_pipe(ends[1], format);
/// writer->write(2, view_of(channels.data(), {1, 2, 2}));
/// writer->finish();
/// close(ends[1]);
/// const auto reader = io::open_frame_pipe(ends[0], {});
/// std::vector<float> samples(4);
/// assert(reader->info().signals() == 2);
/// assert(reader->read(2, view_of(samples.data(), {1, 2, 2})) == 2 && samples == channels);
/// close(ends[0]);
/// @endcode
CONVOLUME_API std::unique_ptr<FrameReader> open_frame_pipe(int descriptor,
                                                           const OpenSignalOptions& options);

/// Writes frames to a descriptor, each at once.
class CONVOLUME_API FrameWriter {
  public:
    virtual ~FrameWriter() = default;
    /// Writes the first `frames` samples of `channels`, of the shape (1, channels, frames or more)
    /// and the type float32 or float64. Throws IoError, and PipeClosed if the reader closed the
    /// pipe.
    virtual void write(index_t frames, const ConstImageView& channels) = 0;
    /// Stores the number of frames in the header, if the descriptor is a file.
    virtual void finish() = 0;
    /// Returns the numbers of samples that were clamped to the range of integers.
    virtual ClampCount clamped() const = 0;
    /// Makes writes that wait throw Cancelled, now and later. Another thread calls it.
    virtual void cancel() = 0;
};

/// Format of frames on a descriptor.
struct FrameFormat {
    index_t channels = 1;
    StoredType stored = StoredType::float32;  ///< type of the samples, little-endian
    /// Sampling rate of a WAV header, which names no number of frames. If not given, raw samples.
    std::optional<double> wav_rate_hz{};
};

/// Creates a writer of frames. Integers are rounded and clamped; in WAV they are fractions of full
/// scale. Writes the header at once. The descriptor is not closed. Throws InvalidArgument (a type
/// that cannot be written, a sampling rate that is no whole number).
CONVOLUME_API std::unique_ptr<FrameWriter> create_frame_pipe(int descriptor,
                                                             const FrameFormat& format);

}  // namespace convolume::io
