// SPDX-License-Identifier: Apache-2.0
// Signals in WAV files (RIFF, RF64, BW64, Wave64), through libsndfile. Channels are signals.
// Integers are fractions of full scale.

#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <memory>

#include "io/atomic_output.hpp"
#include "io/raw_file.hpp"
#include "io/signal/formats.hpp"
#include "io/signal/wav_chunks.hpp"

namespace convolume::io {
namespace {

struct Close {
    void operator()(SNDFILE* file) const { sf_close(file); }
};
using Sound = std::unique_ptr<SNDFILE, Close>;

// Numbers read or written at a time, of all channels.
constexpr index_t numbers_at_a_time = index_t{1} << 16;

sf_count_t read_frames(SNDFILE* file, float* to, index_t frames) {
    return sf_readf_float(file, to, frames);
}
sf_count_t read_frames(SNDFILE* file, double* to, index_t frames) {
    return sf_readf_double(file, to, frames);
}
sf_count_t read_frames(SNDFILE* file, int* to, index_t frames) {
    return sf_readf_int(file, to, frames);
}
sf_count_t write_frames(SNDFILE* file, const float* from, index_t frames) {
    return sf_writef_float(file, from, frames);
}
sf_count_t write_frames(SNDFILE* file, const double* from, index_t frames) {
    return sf_writef_double(file, from, frames);
}
sf_count_t write_frames(SNDFILE* file, const int* from, index_t frames) {
    return sf_writef_int(file, from, frames);
}

struct Encoding {
    int format;  ///< of libsndfile
    StoredType stored;
    PixelType type;  ///< that holds its fractions of full scale
    int bits;        ///< of integers
};
constexpr Encoding encodings[] = {
    {SF_FORMAT_PCM_U8, StoredType::uint8, PixelType::float32, 8},
    {SF_FORMAT_PCM_16, StoredType::int16, PixelType::float32, 16},
    {SF_FORMAT_PCM_24, StoredType::int24, PixelType::float32, 24},
    {SF_FORMAT_PCM_32, StoredType::int32, PixelType::float64, 32},
    {SF_FORMAT_FLOAT, StoredType::float32, PixelType::float32, 0},
    {SF_FORMAT_DOUBLE, StoredType::float64, PixelType::float64, 0},
};

/// A WAV file as libsndfile sees it: a header of its format alone, then the samples.
class PlainWav {
  public:
    explicit PlainWav(const RawFile& file)
        : file_(file), chunks_(find_wav_chunks(file)), header_(wav_header(chunks_)) {}
    PlainWav(const PlainWav&) = delete;
    PlainWav& operator=(const PlainWav&) = delete;

    /// Must be closed before *this ends. Null where libsndfile refuses it.
    SNDFILE* open(SF_INFO& sound) {
        static SF_VIRTUAL_IO calls{length, seek, read, nullptr, tell};
        return sf_open_virtual(&calls, SFM_READ, &sound, this);
    }
    /// Throws what reading threw: no exception passes through libsndfile.
    void check() const {
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    static PlainWav& of(void* self) { return *static_cast<PlainWav*>(self); }
    static sf_count_t length(void* self) { return of(self).size(); }
    static sf_count_t tell(void* self) { return of(self).at_; }
    static sf_count_t seek(sf_count_t offset, int whence, void* self) {
        PlainWav& wav = of(self);
        const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? wav.at_ : wav.size();
        if (from + offset < 0 || from + offset > wav.size()) return -1;
        return wav.at_ = from + offset;
    }
    static sf_count_t read(void* to, sf_count_t bytes, void* self) {
        PlainWav& wav = of(self);
        try {
            auto* target = static_cast<char*>(to);
            sf_count_t left = std::min<sf_count_t>(bytes, wav.size() - wav.at_);
            const sf_count_t done = std::max<sf_count_t>(left, 0);
            const auto header = static_cast<sf_count_t>(wav.header_.size());
            if (wav.at_ < header && left > 0) {
                const sf_count_t now = std::min(left, header - wav.at_);
                std::memcpy(target, wav.header_.data() + wav.at_, static_cast<std::size_t>(now));
                target += now;
                wav.at_ += now;
                left -= now;
            }
            if (left > 0) {
                wav.file_.read(wav.chunks_.samples_at + wav.at_ - header, target, left);
                wav.at_ += left;
            }
            return done;
        } catch (...) {
            wav.failure_ = std::current_exception();
            return 0;
        }
    }
    sf_count_t size() const {
        return static_cast<sf_count_t>(header_.size()) + chunks_.sample_bytes;
    }

    const RawFile& file_;
    WavChunks chunks_;
    std::string header_;
    sf_count_t at_ = 0;
    std::exception_ptr failure_;
};

class WavReader : public SignalReader {
  public:
    explicit WavReader(const std::string& path) : file_(path), plain_(file_) {
        SF_INFO sound{};
        sound_.reset(plain_.open(sound));
        plain_.check();
        if (!sound_)
            throw BadData(message(path, " cannot be read as WAV: ", sf_strerror(nullptr),
                                  "; it is damaged, copy it again"));
        const auto* const encoding =
            std::find_if(std::begin(encodings), std::end(encodings), [&](const Encoding& known) {
                return known.format == (sound.format & SF_FORMAT_SUBMASK);
            });
        if (encoding == std::end(encodings))
            throw BadData(message(path,
                                  " holds compressed samples, which are not supported; "
                                  "save them as integers or float32"));
        if (sound.frames < 1 || sound.channels < 1)
            throw BadData(message(path, " holds no samples; write or copy it again"));
        channels_ = sound.channels;
        info_.format = "WAV";
        info_.type = encoding->type;
        info_.dims = {index_t{sound.frames}};
        if (channels_ > 1) info_.dims.insert(info_.dims.begin(), channels_);
        if (encoding->bits > 0) info_.stored = to_string(encoding->stored);
        info_.sampling_rate_hz = sound.samplerate;
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
        if (sf_seek(sound_.get(), begin, SEEK_SET) != begin) fail();
        const index_t most = std::max<index_t>(1, numbers_at_a_time / channels_);
        std::vector<Real> frames;
        if (channels_ > 1)
            frames.resize(static_cast<std::size_t>(std::min(most, count) * channels_));
        for (index_t done = 0; done < count;) {
            const index_t now = std::min(most, count - done);
            Real* const into = channels_ > 1 ? frames.data() : to + done;
            if (read_frames(sound_.get(), into, now) != now) fail();
            if (channels_ > 1)
                for (index_t i = 0; i < now; ++i) to[done + i] = into[i * channels_ + channel];
            done += now;
        }
    }
    [[noreturn]] void fail() const {
        plain_.check();
        throw IoError(message("reading ", file_.path(), " failed: ", sf_strerror(sound_.get()),
                              "; copy it again"));
    }

    RawFile file_;
    PlainWav plain_;
    Sound sound_;
    index_t channels_ = 1;
    SignalInfo info_;
};

const Encoding& encoding_for(const std::string& path, SampleType type,
                             const CreateSignalOptions& options) {
    if (type != SampleType::float32 && type != SampleType::float64)
        throw InvalidArgument(message("cannot write ", path, ": WAV files hold real samples, not ",
                                      to_string(type), "; write .npy or a raw file"));
    const StoredType stored = options.stored.value_or(StoredType::float32);
    for (const Encoding& known : encodings)
        if (known.stored == stored) return known;
    throw InvalidArgument(sentence("cannot write ", path, ": WAV files do not hold ",
                                   to_string(stored),
                                   " samples; choose uint8, int16, int24, int32, float32 or "
                                   "float64 (",
                                   OptionName{"stored"}, ")"));
}

int whole_rate(const std::string& path, const CreateSignalOptions& options) {
    if (!options.sampling_rate_hz)
        throw InvalidArgument(
            sentence("cannot write ", path,
                     ": a WAV file names its sampling rate, and here is none; give it (",
                     OptionName{"sampling_rate_hz"}, ")"));
    const double rate = *options.sampling_rate_hz;
    if (!(rate >= 1 && rate <= 2147483647) || rate != std::floor(rate))
        throw InvalidArgument(
            sentence("cannot write ", path,
                     ": the sampling rate of a WAV file is a whole number of hertz, not ", rate,
                     "; give another (", OptionName{"sampling_rate_hz"}, "), or write .npy"));
    return static_cast<int>(rate);
}

int channels_of(const std::string& path, const std::vector<index_t>& dims) {
    constexpr index_t most = 1024;
    index_t channels = 1;
    for (std::size_t d = 0; d + 1 < dims.size(); ++d)
        channels = checked_multiply(channels, dims[d]);
    if (channels > most)
        throw InvalidArgument(message("cannot write ", path, ": a WAV file has at most ", most,
                                      " channels, and here are ", channels, "; write .npy"));
    return static_cast<int>(channels);
}

class WavWriter : public SignalWriter {
  public:
    WavWriter(const std::string& path, const std::vector<index_t>& dims, SampleType type,
              const CreateSignalOptions& options)
        : dims_(dims),
          type_(type),
          encoding_(encoding_for(path, type, options)),
          channels_(channels_of(path, dims)),
          rate_(whole_rate(path, options)),
          output_(path, options.overwrite, expected_bytes(dims, bytes_of(encoding_.stored))) {
        SF_INFO sound{};
        sound.channels = channels_;
        sound.samplerate = rate_;
        // 32 bits count the bytes of a RIFF file, its header among them.
        const index_t bytes = expected_bytes(dims, bytes_of(encoding_.stored));
        const bool unknown = dims.back() == unknown_samples;
        const bool small = !unknown && bytes < (index_t{1} << 32) - (index_t{1} << 16);
        sound.format = (small ? SF_FORMAT_WAV : SF_FORMAT_RF64) | encoding_.format;
        sound_.reset(sf_open(output_.temporary().c_str(), SFM_RDWR, &sound));
        if (!sound_) throw CannotCreate(output_.failure(sf_strerror(nullptr)));
        // The files of equal samples are equal: no chunk with the time of writing.
        sf_command(sound_.get(), SFC_SET_ADD_PEAK_CHUNK, nullptr, SF_FALSE);
        if (unknown) sf_command(sound_.get(), SFC_RF64_AUTO_DOWNGRADE, nullptr, SF_TRUE);
        if (!options.software.empty())
            sf_set_string(sound_.get(), SF_STR_SOFTWARE, options.software.c_str());
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
        else if (encoding_.type == PixelType::float64)
            store<double>(row, begin, count, [&](index_t i) { return double{from[i]}; });
        else
            store<float>(row, begin, count, [&](index_t i) { return static_cast<float>(from[i]); });
    }

    /// As libsndfile has integers: of 32 bits, whose highest are stored.
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

    /// Frames hold a sample of each channel: those of the others are read and written back.
    template <class Number, class Sample>
    void store(index_t channel, index_t begin, index_t count, const Sample& sample) {
        const index_t most = std::max<index_t>(1, numbers_at_a_time / channels_);
        std::vector<Number> frames(static_cast<std::size_t>(std::min(most, count) * channels_));
        while (frames_ < begin) {  // samples in between may follow
            const index_t now = std::min(most, begin - frames_);
            frames.assign(static_cast<std::size_t>(now * channels_), Number{});
            put(frames.data(), frames_, now);
        }
        for (index_t done = 0; done < count;) {
            const index_t now = std::min(most, count - done);
            const index_t at = begin + done;
            frames.assign(static_cast<std::size_t>(now * channels_), Number{});
            const index_t there = std::clamp<index_t>(frames_ - at, 0, now);
            if (channels_ > 1 && there > 0 &&
                (sf_seek(sound_.get(), at, SEEK_SET) != at ||
                 read_frames(sound_.get(), frames.data(), there) != there))
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
    const Encoding& encoding_;
    int channels_;
    int rate_;
    AtomicOutput output_;
    Sound sound_;
    index_t frames_ = 0;  ///< in the file so far
    ClampCount clamped_;
};

}  // namespace

std::unique_ptr<SignalReader> open_wav_signal(const std::string& path) {
    const WavChunks chunks = find_wav_chunks(RawFile(path));
    const WavFormat format = parse_wav_format(chunks);
    if (chunks.big_endian || (format.tag == WavFormat::integers && format.bits > 32))
        return open_pcm_wav_signal(path);
    return std::make_unique<WavReader>(path);
}

std::unique_ptr<SignalWriter> create_wav_signal(const std::string& path,
                                                const std::vector<index_t>& dims, SampleType type,
                                                const CreateSignalOptions& options) {
    return std::make_unique<WavWriter>(path, dims, type, options);
}

}  // namespace convolume::io
