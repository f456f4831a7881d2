// SPDX-License-Identifier: Apache-2.0
// Signals that lie in a file as an array does in memory: NPY and raw files.

#include <bit>
#include <cstring>

#include "io/atomic_output.hpp"
#include "io/axis_layout.hpp"
#include "io/file_array.hpp"
#include "io/npy_header.hpp"
#include "io/signal_formats.hpp"

namespace convolume::io {
namespace {

constexpr bool little_endian = std::endian::native == std::endian::little;

template <class Integer>
void to_float64(void* data, index_t count) {
    auto* at = static_cast<char*>(data);
    for (index_t i = 0; i < count; ++i, at += sizeof(double)) {
        Integer integer;
        std::memcpy(&integer, at, sizeof(integer));
        const auto value = static_cast<double>(integer);
        std::memcpy(at, &value, sizeof(value));
    }
}

class ArrayReader : public SignalReader {
  public:
    explicit ArrayReader(const std::string& path)
        : file_(path), header_(read_npy_header(file_, true)) {
        if (header_.dims.empty())
            throw BadData(message(path, " holds a single value, not an array of samples"));
        describe("NPY");
    }

    ArrayReader(const std::string& path, PixelType type, const OpenSignalOptions& options)
        : file_(path) {
        header_.type = type;
        header_.swapped = !little_endian;
        header_.dims = raw_dims(options);
        describe("raw");
    }

    const SignalInfo& info() const override { return info_; }

    void read(index_t signal, index_t begin, index_t count, void* to) override {
        check_range(info_.dims, signal, begin, count);
        index_t first = begin * strides_.back();
        const std::vector<index_t> at = row_position(info_.dims, signal);
        for (std::size_t d = 0; d < at.size(); ++d) first += at[d] * strides_[d];
        const FileArray samples{
            header_.data_offset + first * static_cast<index_t>(size_of(info_.type)),
            {0, 0, strides_.back()},
            header_.swapped};
        read_array(file_, samples, {to, info_.type, {1, 1, count}, {count, count, 1}});
        if (header_.wide == WideInteger::is_signed) to_float64<std::int64_t>(to, count);
        if (header_.wide == WideInteger::is_unsigned) to_float64<std::uint64_t>(to, count);
    }

  private:
    std::vector<index_t> raw_dims(const OpenSignalOptions& options) const {
        const auto bytes_each = static_cast<index_t>(size_of(header_.type));
        const index_t elements = file_.size() / bytes_each;
        if (file_.size() % bytes_each != 0)
            throw BadData(message(file_.path(), " has ", file_.size(),
                                  " bytes, which is no whole number of ", to_string(header_.type),
                                  " samples of ", bytes_each,
                                  " bytes; it is cut, or of another type"));
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

    void describe(const char* format) {
        info_ = {format, header_.type, header_.dims};
        strides_ = array_strides(header_.dims, header_.fortran_order);
    }

    RawFile file_;
    NpyHeader header_;  ///< of a raw file: what it would have
    SignalInfo info_;
    std::vector<index_t> strides_;
};

class ArrayWriter : public SignalWriter {
  public:
    ArrayWriter(const std::string& path, const std::string& header, std::vector<index_t> dims,
                SampleType type, const CreateSignalOptions& options)
        : dims_(std::move(dims)),
          bytes_each_(bytes_of(type)),
          data_offset_(static_cast<index_t>(header.size())),
          output_(path, options.overwrite, checked_add(total_bytes(dims_, type), data_offset_)) {
        output_.write(0, header.data(), data_offset_);
    }

    void write(index_t row, index_t begin, index_t count, const void* from) override {
        check_range(dims_, row, begin, count);
        output_.write(data_offset_ + (row * dims_.back() + begin) * bytes_each_, from,
                      count * bytes_each_);
    }

    void commit() override { output_.commit(); }

  private:
    std::vector<index_t> dims_;
    index_t bytes_each_;
    index_t data_offset_;
    AtomicOutput output_;
};

std::string type_code(SampleType type) {
    const char kind = type == SampleType::int64                                         ? 'i'
                      : type == SampleType::complex64 || type == SampleType::complex128 ? 'c'
                                                                                        : 'f';
    return npy_type_code(kind, static_cast<std::size_t>(bytes_of(type)));
}

}  // namespace

std::unique_ptr<SignalReader> open_npy_signal(const std::string& path) {
    return std::make_unique<ArrayReader>(path);
}

std::unique_ptr<SignalReader> open_raw_signal(const std::string& path, PixelType type,
                                              const OpenSignalOptions& options) {
    return std::make_unique<ArrayReader>(path, type, options);
}

std::unique_ptr<SignalWriter> create_npy_signal(const std::string& path,
                                                const std::vector<index_t>& dims, SampleType type,
                                                const CreateSignalOptions& options) {
    return std::make_unique<ArrayWriter>(path, npy_header_text(type_code(type), dims), dims, type,
                                         options);
}

std::unique_ptr<SignalWriter> create_raw_signal(const std::string& path,
                                                const std::vector<index_t>& dims, SampleType type,
                                                const CreateSignalOptions& options) {
    if (!little_endian)
        throw Unavailable(
            message("raw files are little-endian, and are not written by machines "
                    "that are not; write ",
                    path, " as .npy"));
    return std::make_unique<ArrayWriter>(path, "", dims, type, options);
}

}  // namespace convolume::io
