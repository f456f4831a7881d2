// SPDX-License-Identifier: Apache-2.0
// WAV files that libsndfile does not decode: big-endian ones (RIFX) and integers of more than 32
// bits.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "convolume/error.hpp"
#include "io/raw_file.hpp"
#include "io/signal/formats.hpp"
#include "io/signal/wav_chunks.hpp"

namespace convolume::io {
namespace {

/// Bytes read at a time, of all channels.
constexpr index_t bytes_at_a_time = index_t{1} << 19;

class PcmWavReader : public SignalReader {
  public:
    explicit PcmWavReader(const std::string& path)
        : file_(path), chunks_(find_wav_chunks(file_)), format_(parse_wav_format(chunks_)) {
        const index_t channels = format_.channels;
        const bool is_whole = channels > 0 && format_.frame_bytes % channels == 0;
        width_ = is_whole ? format_.frame_bytes / channels : 0;
        if (width_ < 1 || format_.bits > 8 * width_ || format_.bits <= 8 * (width_ - 1))
            throw BadData(message(path, " cannot be read as WAV: ", channels, " channels of ",
                                  format_.bits, " bits do not make frames of ", format_.frame_bytes,
                                  " bytes; it is damaged, copy it again"));
        const bool known =
            format_.tag == WavFormat::integers
                ? width_ <= 8
                : format_.tag == WavFormat::floating_point && (width_ == 4 || width_ == 8);
        if (!known)
            throw BadData(message(path, " holds samples of ", format_.bits,
                                  " bits in an encoding (", format_.tag,
                                  ") that is not supported; save it as int16, int24, int32 or "
                                  "float32"));
        const index_t frames = chunks_.sample_bytes / format_.frame_bytes;
        if (frames < 1) throw BadData(message(path, " holds no samples; write or copy it again"));
        const bool is_float = format_.tag == WavFormat::floating_point;
        info_.format = "WAV";
        info_.type =
            width_ < 4 || (is_float && width_ == 4) ? PixelType::float32 : PixelType::float64;
        info_.dims = {frames};
        if (channels > 1) info_.dims.insert(info_.dims.begin(), channels);
        if (!is_float) info_.stored = message(width_ == 1 ? "uint" : "int", 8 * width_);
        info_.sampling_rate_hz = static_cast<double>(format_.rate_hz);
    }

    const SignalInfo& info() const override { return info_; }

    void read(index_t signal, index_t begin, index_t count, void* to) override {
        check_range(info_.dims, signal, begin, count);
        if (info_.type == PixelType::float64)
            read_channel(signal, begin, count, static_cast<double*>(to));
        else
            read_channel(signal, begin, count, static_cast<float*>(to));
        file_.check_unchanged();
    }

  private:
    template <class Real>
    void read_channel(index_t channel, index_t begin, index_t count, Real* to) {
        const index_t frame = format_.frame_bytes;
        const index_t most = std::max<index_t>(1, bytes_at_a_time / frame);
        std::vector<unsigned char> bytes(static_cast<std::size_t>(std::min(most, count) * frame));
        for (index_t done = 0; done < count;) {
            const index_t now = std::min(most, count - done);
            file_.read(chunks_.samples_at + (begin + done) * frame, bytes.data(), now * frame);
            const unsigned char* from = bytes.data() + channel * width_;
            for (index_t i = 0; i < now; ++i, from += frame)
                to[done + i] = static_cast<Real>(value_of(from));
            done += now;
        }
    }

    /// The highest of the 64 bits are those of the sample.
    std::uint64_t bits_of(const unsigned char* sample) const {
        std::uint64_t bits = 0;
        for (index_t i = 0; i < width_; ++i)
            bits = bits << 8 | sample[chunks_.big_endian ? i : width_ - 1 - i];
        return bits << (64 - 8 * width_);
    }

    /// Integers are fractions of full scale.
    double value_of(const unsigned char* sample) const {
        const std::uint64_t bits = bits_of(sample);
        if (format_.tag == WavFormat::floating_point)
            return width_ == 8 ? std::bit_cast<double>(bits)
                               : static_cast<double>(
                                     std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32)));
        // One byte has no sign: 128 is 0.
        constexpr std::uint64_t sign = std::uint64_t{1} << 63;
        const auto number = static_cast<std::int64_t>(width_ == 1 ? bits ^ sign : bits);
        return std::ldexp(static_cast<double>(number), -63);
    }

    RawFile file_;
    WavChunks chunks_;
    WavFormat format_;
    index_t width_ = 0;  ///< bytes of a sample
    SignalInfo info_;
};

}  // namespace

std::unique_ptr<SignalReader> open_pcm_wav_signal(const std::string& path) {
    return std::make_unique<PcmWavReader>(path);
}

}  // namespace convolume::io
