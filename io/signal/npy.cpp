// SPDX-License-Identifier: Apache-2.0
// Signals in NumPy's array files.

#include "io/npy.hpp"

#include <algorithm>
#include <cstring>

#include "io/atomic_output.hpp"
#include "io/axis_layout.hpp"
#include "io/file_array.hpp"
#include "io/signal/file.hpp"

namespace convolume::io {
namespace {

class NpySignalReader : public SignalReader {
  public:
    explicit NpySignalReader(const std::string& path)
        : file_(path), header_(read_npy_header(file_)) {
        if (header_.dims.empty())
            throw BadData(message(path, " holds a single value, not an array of samples"));
        info_ = {"NPY", header_.type, header_.dims};
        strides_ = array_strides(header_.dims, header_.fortran_order);
    }

    const SignalInfo& info() const override { return info_; }

    void read(index_t signal, index_t begin, index_t count, void* to) override {
        check_range(info_.dims, signal, begin, count);
        index_t first = begin * strides_.back();
        const std::vector<index_t> at = row_position(info_.dims, signal);
        for (std::size_t d = 0; d < at.size(); ++d) first += at[d] * strides_[d];
        const FileArray samples{header_.data_offset + first * header_.element_bytes(),
                                {0, 0, strides_.back()},
                                header_.swapped};
        read_npy_elements(file_, header_, samples,
                          {to, info_.type, {1, 1, count}, {count, count, 1}});
        file_.check_unchanged();
    }

  private:
    RawFile file_;
    NpyHeader header_;
    SignalInfo info_;
    std::vector<index_t> strides_;
};

std::string type_code(SampleType type) {
    const char kind = type == SampleType::int64                                         ? 'i'
                      : type == SampleType::complex64 || type == SampleType::complex128 ? 'c'
                                                                                        : 'f';
    return npy_type_code(kind, static_cast<std::size_t>(bytes_of(type)));
}

class NpySignalWriter : public SignalWriter {
  public:
    NpySignalWriter(const std::string& path, std::vector<index_t> dims, SampleType type,
                    const CreateSignalOptions& options)
        : dims_(std::move(dims)),
          type_(type),
          header_(npy_header_text(type_code(type), dims_)),
          output_(path, options.overwrite,
                  checked_add(expected_bytes(dims_, bytes_of(type)), data_offset())) {
        output_.write(0, header_.data(), data_offset());
    }

    void write(index_t row, index_t begin, index_t count, const void* from) override {
        check_range(dims_, row, begin, count);
        output_.write(data_offset() + (row * dims_.back() + begin) * bytes_of(type_), from,
                      count * bytes_of(type_));
        end_ = std::max(end_, begin + count);
    }

    void commit() override {
        if (dims_.back() == unknown_samples) {
            dims_.back() = end_;
            const std::string header = npy_header_text(type_code(type_), dims_);
            if (header.size() != header_.size())
                throw InternalError("a header that grew with the number of samples");
            output_.write(0, header.data(), data_offset());
        }
        output_.commit();
    }

  private:
    index_t data_offset() const { return static_cast<index_t>(header_.size()); }

    std::vector<index_t> dims_;
    SampleType type_;
    std::string header_;
    AtomicOutput output_;
    index_t end_ = 0;  ///< of what was written
};

}  // namespace

std::unique_ptr<SignalReader> open_npy_signal(const std::string& path) {
    return std::make_unique<NpySignalReader>(path);
}

std::unique_ptr<SignalWriter> create_npy_signal(const std::string& path,
                                                const std::vector<index_t>& dims, SampleType type,
                                                const CreateSignalOptions& options) {
    return std::make_unique<NpySignalWriter>(path, dims, type, options);
}

}  // namespace convolume::io
