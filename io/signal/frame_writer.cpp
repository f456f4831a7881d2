// SPDX-License-Identifier: Apache-2.0
// Writes frames to pipes: raw samples, and WAV whose header names no number of frames.

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/frame_pipe.hpp"
#include "io/signal/pipe.hpp"
#include "io/signal/sample_codec.hpp"
#include "io/signal/wav_format.hpp"

namespace convolume::io {
namespace {

void append(std::string& bytes, std::uint64_t number, int width) {
    for (int i = 0; i < width; ++i) bytes += static_cast<char>(number >> 8 * i & 0xFF);
}

/// Returns the header of WAV with `data_bytes` bytes of samples.
std::string wav_header(const FrameFormat& format, std::uint64_t data_bytes) {
    constexpr std::uint64_t chunks_bytes = 36;  // of the header from "WAVE" on
    const bool is_integer = io::is_integer(format.stored);
    const auto width = static_cast<std::uint64_t>(bytes_of(format.stored));
    const auto channels = static_cast<std::uint64_t>(format.channels);
    const auto rate = static_cast<std::uint64_t>(*format.wav_rate_hz);
    std::string bytes = "RIFF";
    append(bytes, std::min(data_bytes + chunks_bytes, largest_uint32), 4);
    bytes += "WAVEfmt ";
    append(bytes, 16, 4);
    const int tag = is_integer ? WavFormat::integers : WavFormat::floating_point;
    append(bytes, static_cast<std::uint64_t>(tag), 2);
    append(bytes, channels, 2);
    append(bytes, rate, 4);
    append(bytes, rate * channels * width, 4);
    append(bytes, channels * width, 2);
    append(bytes, 8 * width, 2);
    bytes += "data";
    append(bytes, std::min(data_bytes, largest_uint32), 4);
    return bytes;
}

void check_format(const FrameFormat& format) {
    if (std::endian::native != std::endian::little)
        throw Unavailable(
            "frames are little-endian, and are not written by machines that are not; "
            "write a file");
    if (!format.wav_rate_hz) return;
    constexpr StoredType types[] = {StoredType::int16, StoredType::int32, StoredType::float32,
                                    StoredType::float64};
    if (std::find(std::begin(types), std::end(types), format.stored) == std::end(types))
        throw InvalidArgument(sentence(
            "WAV on a pipe has int16, int32, float32 or float64 samples, not ",
            to_string(format.stored), "; choose one of these (", OptionName{"stored"}, ")"));
    const double rate = *format.wav_rate_hz;
    if (!(rate >= 1 && rate <= 2147483647) || rate != std::floor(rate))
        throw InvalidArgument(sentence("the sampling rate of WAV is a whole number of hertz, not ",
                                       rate, "; give another (", OptionName{"sampling_rate_hz"},
                                       ")"));
    if (format.channels > 0xFFFF / bytes_of(format.stored))
        throw InvalidArgument(
            message("WAV does not hold ", format.channels, " channels; write raw samples"));
}

class PipeFrameWriter : public FrameWriter {
  public:
    PipeFrameWriter(int descriptor, const FrameFormat& format)
        : pipe_(descriptor),
          format_(format),
          encoder_(SampleType::float64, format.stored, "standard output") {
        check_format(format);
        if (!format.wav_rate_hz) return;
        // WAV holds fractions of full scale.
        if (is_integer(format.stored))
            scale_ = std::ldexp(1.0, static_cast<int>(8 * bytes_of(format.stored) - 1));
        const std::string header = wav_header(format, largest_uint32);
        pipe_.write(header.data(), static_cast<index_t>(header.size()));
    }

    void write(index_t frames, const ConstImageView& channels) override {
        if (channels.shape.y != format_.channels || channels.shape.x < frames)
            throw InvalidArgument(message("frames of ", format_.channels,
                                          " channels are written from ", channels.shape.y,
                                          " rows of ", channels.shape.x));
        if (frames == 0) return;
        interleaved_.resize(static_cast<std::size_t>(frames * format_.channels));
        ConstImageView rows = channels;
        rows.shape.x = frames;
        const ImageView target{
            interleaved_.data(), PixelType::float64, rows.shape, {0, 1, format_.channels}};
        convert_pixels(rows, target);
        for (double& sample : interleaved_) sample *= scale_;
        encoder_.encode(interleaved_.data(), frames * format_.channels,
                        [&](const void* stored, index_t samples) {
                            pipe_.write(stored, samples * bytes_of(format_.stored));
                        });
        frames_ += frames;
    }

    void finish() override {
        if (!format_.wav_rate_hz || !pipe_.is_file()) return;
        const auto bytes = frames_ * format_.channels * bytes_of(format_.stored);
        const std::string header = wav_header(format_, static_cast<std::uint64_t>(bytes));
        pipe_.write_again(0, header.data(), static_cast<index_t>(header.size()));
    }

    ClampCount clamped() const override { return encoder_.clamped(); }
    void cancel() override { pipe_.cancel(); }

  private:
    OutputPipe pipe_;
    FrameFormat format_;
    SampleEncoder encoder_;
    double scale_ = 1;
    index_t frames_ = 0;
    std::vector<double> interleaved_;
};

}  // namespace

std::unique_ptr<FrameWriter> create_frame_pipe(int descriptor, const FrameFormat& format) {
    return std::make_unique<PipeFrameWriter>(descriptor, format);
}

}  // namespace convolume::io
