// SPDX-License-Identifier: Apache-2.0
// Raw signals: samples without a description, after a header that is skipped. They are in files, or
// pass through open file descriptors (standard input and output).

#include <algorithm>
#include <bit>

#include "io/atomic_output.hpp"
#include "io/raw_file.hpp"
#include "io/signal/file.hpp"
#include "io/signal/pipe.hpp"
#include "io/signal/sample_codec.hpp"

namespace convolume::io {
namespace {

/// Returns the format and type of raw samples, without their number. Throws InvalidArgument for
/// types that raw files do not have.
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
    RawReader(const std::string& path, StoredType type, const OpenSignalOptions& options)
        : file_(path),
          type_(type),
          header_bytes_(options.raw_header.value_or(0)),
          swapped_(swaps_bytes(options)) {
        info_ = raw_info(type);
        info_.dims = dims(options);
    }

    void read(index_t signal, index_t begin, index_t count, void* to) override {
        check_range(info_.dims, signal, begin, count);
        const index_t first = signal * info_.samples() + begin;
        file_.read(header_bytes_ + first * bytes_of(type_), stored_bytes_address(to, count, type_),
                   count * bytes_of(type_));
        file_.check_unchanged();
        decode(to, count, type_, swapped_);
    }

  private:
    std::vector<index_t> dims(const OpenSignalOptions& options) const {
        if (header_bytes_ < 0 || header_bytes_ >= file_.size())
            throw InvalidArgument(sentence(
                file_.path(), " has ", file_.size(), " bytes, and a header of ", header_bytes_,
                " leaves no samples; give its length (", OptionName{"raw_header"}, ")"));
        const index_t bytes = file_.size() - header_bytes_;
        if (bytes % bytes_of(type_) != 0)
            throw BadData(message(file_.path(), " has ", bytes, " bytes",
                                  header_bytes_ > 0 ? " after its header" : "",
                                  ", which is no whole number of ", io::to_string(type_),
                                  " samples of ", bytes_of(type_),
                                  " bytes; it is cut, or of another type"));
        const index_t elements = bytes / bytes_of(type_);
        const auto parts = options.raw_samples ? options.raw_samples : options.raw_signals;
        if (!parts) return {elements};
        if (*parts < 1 || elements % *parts != 0)
            throw InvalidArgument(message(file_.path(), " holds ", elements, " samples, which ",
                                          *parts,
                                          options.raw_samples ? " samples a signal" : " signals",
                                          " do not divide; give a number that does"));
        if (options.raw_samples) return {elements / *parts, *parts};
        return {*parts, elements / *parts};
    }

    RawFile file_;
    StoredType type_;
    index_t header_bytes_;
    bool swapped_;
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

class PipeReader : public SignalReaderBase {
  public:
    PipeReader(int descriptor, StoredType type, const OpenSignalOptions& options)
        : pipe_(descriptor),
          type_(type),
          header_bytes_(options.raw_header.value_or(0)),
          swapped_(swaps_bytes(options)) {
        info_ = raw_info(type);
        info_.dims = {unknown_samples};
    }

    void cancel() override { pipe_.cancel(); }

    void read(index_t signal, index_t begin, index_t count, void* to) override {
        if (const index_t there = read_until_end(signal, begin, count, to); there < count)
            throw BadData(message("standard input ended after ", begin + there, " samples, before ",
                                  begin + count, " that are needed"));
    }

    index_t read_until_end(index_t signal, index_t begin, index_t count, void* to) override {
        check_range(info_.dims, signal, begin, count);
        if (begin < position_)
            throw InvalidArgument(message("sample ", begin, " of standard input was read before"));
        pipe_.skip_header(header_bytes_);
        header_bytes_ = 0;
        const index_t before = begin - position_;
        const index_t skipped = whole_samples(pipe_.skip(before * bytes_of(type_)));
        position_ += skipped;
        if (skipped < before) return skipped - before;
        void* const stored = stored_bytes_address(to, count, type_);
        const index_t there = whole_samples(pipe_.read(stored, count * bytes_of(type_)));
        position_ += there;
        decode_first(to, there, count, type_, swapped_);
        return there;
    }

  private:
    index_t whole_samples(index_t bytes) const {
        if (bytes % bytes_of(type_) != 0)
            throw BadData(message("standard input ended within a ", io::to_string(type_),
                                  " sample of ", bytes_of(type_),
                                  " bytes; it is cut, or of another type"));
        return bytes / bytes_of(type_);
    }

    InputPipe pipe_;
    StoredType type_;
    index_t header_bytes_;
    bool swapped_;
    index_t position_ = 0;  ///< index of the next sample to arrive
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

std::unique_ptr<SignalReader> open_raw_signal(const std::string& path, StoredType type,
                                              const OpenSignalOptions& options) {
    return std::make_unique<RawReader>(path, type, options);
}

std::unique_ptr<SignalWriter> create_raw_signal(const NewSignals& signals) {
    require_little_endian(signals.path.file);
    return std::make_unique<RawWriter>(signals, signals.options.stored.value());
}

std::unique_ptr<SignalReader> open_signal_pipe(int descriptor, const OpenSignalOptions& options) {
    if (!options.raw_type)
        throw InvalidArgument(
            sentence("samples on standard input say nothing of their type; name it (",
                     OptionName{"raw_type"}, ")"));
    if (options.raw_signals || options.raw_samples)
        throw InvalidArgument(
            sentence("standard input is one signal and cannot be split; leave that out (",
                     OptionName{"raw_signals"}, ")"));
    return std::make_unique<PipeReader>(descriptor, *options.raw_type, options);
}

std::unique_ptr<SignalWriter> create_signal_pipe(int descriptor, SampleType type,
                                                 std::optional<StoredType> stored) {
    require_little_endian("them");
    return std::make_unique<PipeWriter>(descriptor, type, stored.value_or(stored_type_of(type)));
}

}  // namespace convolume::io
