// SPDX-License-Identifier: Apache-2.0
// Signals in datasets of HDF5 files.

#include "io/hdf5/attributes.hpp"
#include "io/hdf5/dataset.hpp"
#include "io/hdf5/files.hpp"
#include "io/hdf5/library.hpp"
#include "io/hdf5/output.hpp"
#include "io/hdf5/types.hpp"
#include "io/signal/file.hpp"

namespace convolume::io {
namespace {

std::vector<hsize_t> range_start(const std::vector<index_t>& dims, index_t row, index_t begin) {
    const std::vector<index_t> at = row_position(dims, row);
    std::vector<hsize_t> start(at.begin(), at.end());
    start.push_back(static_cast<hsize_t>(begin));
    return start;
}

std::vector<hsize_t> range_counts(const std::vector<index_t>& dims, index_t count) {
    std::vector<hsize_t> counts(dims.size(), 1);
    counts.back() = static_cast<hsize_t>(count);
    return counts;
}

class Hdf5SignalReader : public SignalReader {
  public:
    explicit Hdf5SignalReader(const PathSpec& spec) : files_(spec.file) {
        const Hdf5Lock lock;
        open_after_trial(
            files_.main(), [&] { open(spec.dataset); },
            [&] {
                dataset_.reset();
                files_.close();
            });
        info_ = {"HDF5", dataset_->type(), dataset_->dims()};
        try {
            dataset_->try_chunks();
        } catch (...) {
            dataset_.reset();
            files_.close();
            throw;
        }
    }

    ~Hdf5SignalReader() override {
        const Hdf5Lock lock;
        dataset_.reset();
    }

    const SignalInfo& info() const override { return info_; }

    void read(index_t signal, index_t begin, index_t count, void* to) override {
        check_range(info_.dims, signal, begin, count);
        if (count == 0) return;
        const Hdf5Lock lock;
        const auto start = range_start(info_.dims, signal, begin);
        const auto counts = range_counts(info_.dims, count);
        if (dataset_->is_trusted())
            dataset_->read_box(start, counts, to);
        else
            dataset_->read_box_in_helper(start, counts, to);
        files_.check_unchanged();
    }

  private:
    void open(const std::string& dataset) {
        try {
            files_.open();
            const Hdf5Source source{files_, ""};
            const std::string name = dataset.empty()
                                         ? default_dataset(source, list_datasets(source), 1).name
                                         : named_dataset(source, dataset);
            dataset_.emplace(files_, name, true);
            throw_failed_hdf5_read();
        } catch (...) {
            files_.close();
            throw;
        }
    }

    Hdf5Files files_;
    std::optional<Hdf5Dataset> dataset_;
    SignalInfo info_;
};

/// The type as it lies in this machine's memory.
Hdf5Id memory_type_of(SampleType type) {
    switch (type) {
        case SampleType::float32:
            return memory_type(PixelType::float32);
        case SampleType::float64:
            return memory_type(PixelType::float64);
        case SampleType::complex64:
            return memory_type(PixelType::complex64);
        case SampleType::complex128:
            return memory_type(PixelType::complex128);
        case SampleType::int64:
            return {H5Tcopy(H5T_NATIVE_INT64), H5Tclose};
    }
    throw InternalError("a sample type outside its enumeration");
}

class Hdf5SignalWriter : public SignalWriter {
  public:
    Hdf5SignalWriter(const PathSpec& spec, std::vector<index_t> dims, SampleType type,
                     const CreateSignalOptions& options)
        : dims_(std::move(dims)),
          type_(type),
          output_(spec, options.overwrite,
                  checked_add(total_bytes(dims_, bytes_of(type)), hdf5_header_bytes)) {
        const Hdf5Lock lock;
        // Contiguous: rows are written some samples at a time, in any order.
        const Hdf5Id properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        const Hdf5Id memory = memory_type_of(type_);
        output_.check(properties && memory &&
                      H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER) >= 0);
        output_.create_dataset(memory.get(), std::vector<hsize_t>(dims_.begin(), dims_.end()),
                               properties.get());
        if (!options.software.empty())
            write_text_attribute(output_.dataset(), "software", options.software);
    }

    void write(index_t row, index_t begin, index_t count, const void* from) override {
        check_range(dims_, row, begin, count);
        if (count == 0) return;
        const Hdf5Lock lock;
        const Hdf5Id memory = memory_type_of(type_);
        output_.check(static_cast<bool>(memory));
        output_.write(range_start(dims_, row, begin), range_counts(dims_, count), memory.get(),
                      from);
    }

    void commit() override { output_.commit(); }

  private:
    std::vector<index_t> dims_;
    SampleType type_;
    Hdf5Output output_;
};

}  // namespace

std::unique_ptr<SignalReader> open_hdf5_signal(const PathSpec& spec) {
    return std::make_unique<Hdf5SignalReader>(spec);
}

std::unique_ptr<SignalWriter> create_hdf5_signal(const PathSpec& spec,
                                                 const std::vector<index_t>& dims, SampleType type,
                                                 const CreateSignalOptions& options) {
    return std::make_unique<Hdf5SignalWriter>(spec, dims, type, options);
}

}  // namespace convolume::io
