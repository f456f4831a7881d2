// SPDX-License-Identifier: Apache-2.0
// Writer of WAV files, through libsndfile. Rows are channels. Integers are fractions of full scale.

#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "io/atomic_output.hpp"
#include "io/signal/file.hpp"

namespace convolume::io {
namespace {

struct SoundFileCloser {
    void operator()(SNDFILE* file) const { sf_close(file); }
};
using SoundFile = std::unique_ptr<SNDFILE, SoundFileCloser>;

// Numbers that are read or written at a time, for all channels together.
constexpr index_t numbers_at_a_time = index_t{1} << 16;

sf_count_t read_frames(SNDFILE* file, double* to, index_t frames) {
    return sf_readf_double(file, to, frames);
}
sf_count_t read_frames(SNDFILE* file, int* to, index_t frames) {
    return sf_readf_int(file, to, frames);
}
sf_count_t write_frames(SNDFILE* file, const double* from, index_t frames) {
    return sf_writef_double(file, from, frames);
}
sf_count_t write_frames(SNDFILE* file, const int* from, index_t frames) {
    return sf_writef_int(file, from, frames);
}

/// A type of samples in WAV files.
struct WavEncoding {
    int format;  ///< libsndfile's code
    StoredType stored;
    int bits;  ///< bits of an integer; 0 for floating-point numbers
};
constexpr WavEncoding encodings[] = {
    {SF_FORMAT_PCM_U8, StoredType::uint8, 8},  {SF_FORMAT_PCM_16, StoredType::int16, 16},
    {SF_FORMAT_PCM_24, StoredType::int24, 24}, {SF_FORMAT_PCM_32, StoredType::int32, 32},
    {SF_FORMAT_FLOAT, StoredType::float32, 0}, {SF_FORMAT_DOUBLE, StoredType::float64, 0},
};

const WavEncoding& encoding_for(const NewSignals& signals) {
    if (signals.type != SampleType::float32 && signals.type != SampleType::float64)
        throw InvalidArgument(message("cannot write ", signals.path.file,
                                      ": WAV files hold real samples, not ",
                                      to_string(signals.type), "; write .npy or a raw file"));
    const StoredType stored = signals.options.stored.value_or(StoredType::float32);
    for (const WavEncoding& encoding : encodings)
        if (encoding.stored == stored) return encoding;
    throw InvalidArgument(sentence("cannot write ", signals.path.file, ": WAV files do not hold ",
                                   to_string(stored),
                                   " samples; choose uint8, int16, int24, int32, float32 or "
                                   "float64 (",
                                   OptionName{"stored"}, ")"));
}

int whole_rate(const NewSignals& signals) {
    if (!signals.options.coordinates.sampling_rate_hz)
        throw InvalidArgument(
            sentence("cannot write ", signals.path.file,
                     ": a WAV file names its sampling rate, and here is none; give it (",
                     OptionName{"sampling_rate_hz"}, ")"));
    const double rate = *signals.options.coordinates.sampling_rate_hz;
    if (!(rate >= 1 && rate <= 2147483647) || rate != std::floor(rate))
        throw InvalidArgument(
            sentence("cannot write ", signals.path.file,
                     ": the sampling rate of a WAV file is a whole number of hertz, not ", rate,
                     "; give another (", OptionName{"sampling_rate_hz"}, "), or write .npy"));
    return static_cast<int>(rate);
}

int channels_of(const NewSignals& signals) {
    constexpr index_t most = 1024;
    const index_t channels = row_count(signals.dims);
    if (channels > most)
        throw InvalidArgument(message("cannot write ", signals.path.file,
                                      ": a WAV file has at most ", most, " channels, and here are ",
                                      channels, "; write .npy"));
    return static_cast<int>(channels);
}

class WavWriter : public SignalWriter {
  public:
    explicit WavWriter(const NewSignals& signals)
        : dims_(signals.dims),
          type_(signals.type),
          encoding_(encoding_for(signals)),
          channels_(channels_of(signals)),
          rate_(whole_rate(signals)),
          output_(signals.path.file, signals.options.overwrite,
                  signals.expected_bytes(bytes_of(encoding_.stored))) {
        SF_INFO sound{};
        sound.channels = channels_;
        sound.samplerate = rate_;
        // RIFF counts the bytes of the file, including its header, in 32 bits.
        const index_t bytes = signals.expected_bytes(bytes_of(encoding_.stored));
        const bool unknown = dims_.back() == unknown_samples;
        const bool small = !unknown && bytes < (index_t{1} << 32) - (index_t{1} << 16);
        sound.format = (small ? SF_FORMAT_WAV : SF_FORMAT_RF64) | encoding_.format;
        sound_.reset(sf_open(output_.temporary().c_str(), SFM_RDWR, &sound));
        if (!sound_) throw CannotCreate(output_.failure(sf_strerror(nullptr)));
        // Equal samples make equal files: there is no RIFF chunk with the time of writing.
        sf_command(sound_.get(), SFC_SET_ADD_PEAK_CHUNK, nullptr, SF_FALSE);
        if (unknown) sf_command(sound_.get(), SFC_RF64_AUTO_DOWNGRADE, nullptr, SF_TRUE);
        if (const std::string& software = signals.options.software; !software.empty())
            sf_set_string(sound_.get(), SF_STR_SOFTWARE, software.c_str());
    }

    void write(index_t row, index_t begin, index_t count, const void* from) override {
        check_range(dims_, row, begin, count);
        if (type_ == SampleType::float32)
            encode(row, begin, count, static_cast<const float*>(from));
        else
            encode(row, begin, count, static_cast<const double*>(from));
    }
    ClampCount clamped() const override { return clamped_; }

    void commit() override {
        if (const int error = sf_error(sound_.get()); error != 0) fail(sf_error_number(error));
        if (const int error = sf_close(sound_.release()); error != 0) fail(sf_error_number(error));
        output_.commit();
    }

  private:
    template <class Real>
    void encode(index_t row, index_t begin, index_t count, const Real* from) {
        if (encoding_.bits > 0)
            store<int>(row, begin, count, [&](index_t i) { return to_integer(from[i]); });
        else
            store<double>(row, begin, count, [&](index_t i) { return double{from[i]}; });
    }

    /// Returns the sample as an integer of 32 bits, whose highest bits libsndfile stores.
    int to_integer(double sample) {
        const double scale = std::ldexp(1.0, encoding_.bits - 1);
        double value = std::nearbyint(sample * scale);
        if (std::isnan(value)) {
            ++clamped_.low;
            value = 0;
        } else if (value < -scale) {
            ++clamped_.low;
            value = -scale;
        } else if (value > scale - 1) {
            ++clamped_.high;
            value = scale - 1;
        }
        return static_cast<int>(static_cast<std::int64_t>(value) *
                                (std::int64_t{1} << (32 - encoding_.bits)));
    }

    /// Stores samples of one channel. Frames hold a sample of each channel, so samples of other
    /// channels are read and written back.
    template <class Number, class Sample>
    void store(index_t channel, index_t begin, index_t count, const Sample& sample) {
        const index_t most = std::max<index_t>(1, numbers_at_a_time / channels_);
        std::vector<Number> frames(static_cast<std::size_t>(std::min(most, count) * channels_));
        while (frames_ < begin) {  // fills the gap with zeros; its samples may be written later
            const index_t now = std::min(most, begin - frames_);
            frames.assign(static_cast<std::size_t>(now * channels_), Number{});
            put(frames.data(), frames_, now);
        }
        for (index_t done = 0; done < count;) {
            const index_t now = std::min(most, count - done);
            const index_t at = begin + done;
            frames.assign(static_cast<std::size_t>(now * channels_), Number{});
            const index_t present = std::clamp<index_t>(frames_ - at, 0, now);
            if (channels_ > 1 && present > 0 &&
                (sf_seek(sound_.get(), at, SEEK_SET) != at ||
                 read_frames(sound_.get(), frames.data(), present) != present))
                fail(sf_strerror(sound_.get()));
            for (index_t i = 0; i < now; ++i)
                frames[static_cast<std::size_t>(i * channels_ + channel)] = sample(done + i);
            put(frames.data(), at, now);
            done += now;
        }
    }
    template <class Number>
    void put(const Number* frames, index_t at, index_t count) {
        if (sf_seek(sound_.get(), at, SEEK_SET) != at ||
            write_frames(sound_.get(), frames, count) != count)
            fail(sf_strerror(sound_.get()));
        frames_ = std::max(frames_, at + count);
    }
    [[noreturn]] void fail(const char* reason) const { throw IoError(output_.failure(reason)); }

    std::vector<index_t> dims_;
    SampleType type_;
    const WavEncoding& encoding_;
    int channels_;
    int rate_;
    AtomicOutput output_;
    SoundFile sound_;
    index_t frames_ = 0;  ///< number of frames in the file so far
    ClampCount clamped_;
};

}  // namespace

std::unique_ptr<SignalWriter> create_wav_signal(const NewSignals& signals) {
    return std::make_unique<WavWriter>(signals);
}

}  // namespace convolume::io
