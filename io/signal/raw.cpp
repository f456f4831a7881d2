// SPDX-License-Identifier: Apache-2.0
// Signals in files that are nothing but their samples, after a header that is skipped.

#include <algorithm>
#include <bit>

#include "io/atomic_output.hpp"
#include "io/raw_file.hpp"
#include "io/signal/formats.hpp"
#include "io/signal/sample_codec.hpp"

namespace convolume::io {
namespace {

constexpr bool little_endian = std::endian::native == std::endian::little;

class RawReader : public SignalReader {
  public:
    RawReader(const std::string& path, StoredType type, const OpenSignalOptions& options)
        : file_(path),
          type_(type),
          header_(options.raw_header.value_or(0)),
          swapped_(swaps_bytes(options)) {
        info_ = raw_info(type);
        info_.dims = dims(options);
    }

    const SignalInfo& info() const override { return info_; }

    void read(index_t signal, index_t begin, index_t count, void* to) override {
        check_range(info_.dims, signal, begin, count);
        const index_t first = signal * info_.samples() + begin;
        file_.read(header_ + first * bytes_of(type_), stored_place(to, count, type_),
                   count * bytes_of(type_));
        file_.check_unchanged();
        decode(to, count, type_, swapped_);
    }

  private:
    std::vector<index_t> dims(const OpenSignalOptions& options) const {
        if (header_ < 0 || header_ >= file_.size())
            throw InvalidArgument(
                sentence(file_.path(), " has ", file_.size(), " bytes, and a header of ", header_,
                         " leaves no samples; give its length (", OptionName{"raw_header"}, ")"));
        const index_t bytes = file_.size() - header_;
        if (bytes % bytes_of(type_) != 0)
            throw BadData(message(
                file_.path(), " has ", bytes, " bytes", header_ > 0 ? " after its header" : "",
                ", which is no whole number of ", io::to_string(type_), " samples of ",
                bytes_of(type_), " bytes; it is cut, or of another type"));
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
    index_t header_;
    bool swapped_;
    SignalInfo info_;
};

class RawWriter : public SignalWriter {
  public:
    RawWriter(const std::string& path, std::vector<index_t> dims, SampleType type,
              StoredType stored, const CreateSignalOptions& options)
        : dims_(std::move(dims)),
          bytes_each_(bytes_of(type)),
          stored_bytes_(bytes_of(stored)),
          encoder_(type, stored, path),
          output_(path, options.overwrite, expected_bytes(dims_, stored_bytes_)) {}

    void write(index_t row, index_t begin, index_t count, const void* from) override {
        check_range(dims_, row, begin, count);
        const auto* samples = static_cast<const char*>(from);
        index_t at = row * dims_.back() + begin;
        while (count > 0) {
            const index_t now = std::min(count, SampleEncoder::at_a_time);
            output_.write(at * stored_bytes_, encoder_.encode(samples, now), now * stored_bytes_);
            samples += now * bytes_each_;
            at += now;
            count -= now;
        }
    }
    ClampCount clamped() const override { return encoder_.clamped(); }
    void commit() override { output_.commit(); }

  private:
    std::vector<index_t> dims_;
    index_t bytes_each_;
    index_t stored_bytes_;
    SampleEncoder encoder_;
    AtomicOutput output_;
};

}  // namespace

bool swaps_bytes(const OpenSignalOptions& options) {
    return (options.raw_byte_order.value_or(ByteOrder::little) == ByteOrder::little) !=
           little_endian;
}

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
    return std::make_unique<RawReader>(path, type, options);
}

std::unique_ptr<SignalWriter> create_raw_signal(const std::string& path,
                                                const std::vector<index_t>& dims, SampleType type,
                                                StoredType stored,
                                                const CreateSignalOptions& options) {
    require_little_endian(path);
    return std::make_unique<RawWriter>(path, dims, type, stored, options);
}

void require_little_endian(const std::string& path) {
    if (!little_endian)
        throw Unavailable(
            message("raw samples are little-endian, and are not written by machines "
                    "that are not; write ",
                    path, " as .npy"));
}

}  // namespace convolume::io
