// SPDX-License-Identifier: Apache-2.0
// Raw signals in files: samples without a description, after a header that is skipped. Also writes
// one signal to an open file descriptor (standard output).

#include <algorithm>
#include <bit>
#include <cstring>

#include "io/atomic_output.hpp"
#include "io/raw_file.hpp"
#include "io/signal/file.hpp"
#include "io/signal/pipe.hpp"
#include "io/signal/sample_codec.hpp"

namespace convolume::io {
namespace {

/// Throws Unavailable on big-endian machines, which write no raw samples. `path` is the output.
void require_little_endian(const std::string& path) {
    if (std::endian::native != std::endian::little)
        throw Unavailable(
            message("raw samples are little-endian, and are not written by machines "
                    "that are not; write ",
                    path, " as .npy"));
}

class RawReader : public SignalReaderBase {
  public:
    RawReader(std::unique_ptr<const RawFile> file, StoredType type,
              const OpenSignalOptions& options)
        : file_(std::move(file)),
          type_(type),
          header_bytes_(options.raw_header.value_or(0)),
          is_interleaved_(options.raw_layout == SignalLayout::interleaved),
          swapped_(swaps_bytes(options)) {
        info_ = raw_info(type);
        info_.dims = dims(options);
        if (info_.signals() > 1 && !options.raw_layout)
            throw InvalidArgument(sentence(
                file_->path(), " holds ", info_.signals(),
                " signals, and nothing tells whether they follow one another (planar) or take "
                "turns sample by sample (interleaved); say which (",
                OptionName{"raw_layout"}, ")"));
    }

    /// Reads frames that open_signal_pipe() stored.
    RawReader(std::unique_ptr<const RawFile> file, const SignalInfo& info)
        : file_(std::move(file)),
          type_(parse_stored_type(convolume::to_string(info.type))),
          header_bytes_(0),
          is_interleaved_(true),
          swapped_(false) {
        info_ = info;
    }

    void read(index_t signal, index_t begin, index_t count, void* to) override {
        check_range(info_.dims, signal, begin, count);
        auto* const stored = static_cast<char*>(stored_bytes_address(to, count, type_));
        if (is_interleaved_ && info_.signals() > 1)
            read_from_frames(signal, begin, count, stored);
        else
            file_->read(header_bytes_ + (signal * info_.samples() + begin) * bytes_of(type_),
                        stored, count * bytes_of(type_));
        file_->check_unchanged();
        decode(to, count, type_, swapped_);
    }

  private:
    /// Reads the stored bytes of samples of one signal, with those of the others between them.
    void read_from_frames(index_t signal, index_t begin, index_t count, char* to) {
        constexpr index_t bytes_at_a_time = index_t{1} << 19;  // bytes of all signals
        const index_t width = bytes_of(type_), frame = info_.signals() * width;
        const index_t most = std::max<index_t>(1, bytes_at_a_time / frame);
        frames_.resize(static_cast<std::size_t>(std::min(most, count) * frame));
        for (index_t done = 0; done < count;) {
            const index_t now = std::min(most, count - done);
            file_->read(header_bytes_ + (begin + done) * frame, frames_.data(), now * frame);
            const char* from = frames_.data() + signal * width;
            for (index_t i = 0; i < now; ++i, from += frame, to += width)
                std::memcpy(to, from, static_cast<std::size_t>(width));
            done += now;
        }
    }

    std::vector<index_t> dims(const OpenSignalOptions& options) const {
        if (header_bytes_ < 0 || header_bytes_ >= file_->size())
            throw InvalidArgument(sentence(
                file_->path(), " has ", file_->size(), " bytes, and a header of ", header_bytes_,
                " leaves no samples; give its length (", OptionName{"raw_header"}, ")"));
        const index_t bytes = file_->size() - header_bytes_;
        if (bytes % bytes_of(type_) != 0)
            throw BadData(message(file_->path(), " has ", bytes, " bytes",
                                  header_bytes_ > 0 ? " after its header" : "",
                                  ", which is no whole number of ", io::to_string(type_),
                                  " samples of ", bytes_of(type_),
                                  " bytes; it is cut, or of another type"));
        const index_t elements = bytes / bytes_of(type_);
        const auto parts = options.raw_samples ? options.raw_samples : options.raw_signals;
        if (!parts) return {elements};
        if (*parts < 1 || elements % *parts != 0)
            throw InvalidArgument(message(file_->path(), " holds ", elements, " samples, which ",
                                          *parts,
                                          options.raw_samples ? " samples a signal" : " signals",
                                          " do not divide; give a number that does"));
        if (options.raw_samples) return {elements / *parts, *parts};
        return {*parts, elements / *parts};
    }

    std::unique_ptr<const RawFile> file_;
    StoredType type_;
    index_t header_bytes_;
    bool is_interleaved_;
    bool swapped_;
    std::vector<char> frames_;  ///< frames that one signal is taken from
};

class RawWriter : public SignalWriter {
  public:
    RawWriter(const NewSignals& signals, StoredType stored)
        : dims_(signals.dims),
          stored_bytes_(bytes_of(stored)),
          encoder_(signals.type, stored, signals.path.file),
          output_(signals.path.file, signals.options.overwrite,
                  signals.expected_bytes(stored_bytes_)) {}

    void write(index_t row, index_t begin, index_t count, const void* from) override {
        check_range(dims_, row, begin, count);
        index_t at = row * dims_.back() + begin;
        encoder_.encode(from, count, [&](const void* stored, index_t samples) {
            output_.write(at * stored_bytes_, stored, samples * stored_bytes_);
            at += samples;
        });
    }
    ClampCount clamped() const override { return encoder_.clamped(); }
    void commit() override { output_.commit(); }

  private:
    std::vector<index_t> dims_;
    index_t stored_bytes_;
    SampleEncoder encoder_;
    AtomicOutput output_;
};

class PipeWriter : public SignalWriter {
  public:
    PipeWriter(int descriptor, SampleType type, StoredType stored)
        : pipe_(descriptor),
          stored_bytes_(bytes_of(stored)),
          encoder_(type, stored, "standard output") {}

    void cancel() override { pipe_.cancel(); }
    ClampCount clamped() const override { return encoder_.clamped(); }

    void write(index_t row, index_t begin, index_t count, const void* from) override {
        if (row != 0 || begin != position_)
            throw InvalidArgument(message("sample ", begin, " of row ", row,
                                          " was written to standard output, which takes one row "
                                          "in order"));
        position_ += count;
        encoder_.encode(from, count, [&](const void* stored, index_t samples) {
            pipe_.write(stored, samples * stored_bytes_);
        });
    }
    void commit() override {}

  private:
    OutputPipe pipe_;
    index_t stored_bytes_;
    SampleEncoder encoder_;
    index_t position_ = 0;
};

}  // namespace

SignalInfo raw_info(StoredType type) {
    if (type == StoredType::int24)
        throw InvalidArgument("int24 samples are read from WAV files only; name another type");
    SignalInfo info;
    info.format = "raw";
    info.type = read_type(type);
    if (std::string(to_string(type)) != convolume::to_string(info.type))
        info.stored = to_string(type);
    return info;
}

std::unique_ptr<SignalReader> open_raw_signal(const std::string& path, StoredType type,
                                              const OpenSignalOptions& options) {
    return std::make_unique<RawReader>(std::make_unique<const RawFile>(path), type, options);
}

std::unique_ptr<SignalReader> open_stored_frames(int descriptor, const std::string& path,
                                                 const SignalInfo& info) {
    return std::make_unique<RawReader>(std::make_unique<const RawFile>(descriptor, path), info);
}

std::unique_ptr<SignalWriter> create_raw_signal(const NewSignals& signals) {
    require_little_endian(signals.path.file);
    return std::make_unique<RawWriter>(signals, signals.options.stored.value());
}

std::unique_ptr<SignalWriter> create_signal_pipe(int descriptor, SampleType type,
                                                 std::optional<StoredType> stored) {
    require_little_endian("them");
    return std::make_unique<PipeWriter>(descriptor, type, stored.value_or(stored_type_of(type)));
}

}  // namespace convolume::io
