// SPDX-License-Identifier: Apache-2.0
// Signals in datasets of HDF5 files.

#include "io/atomic_output.hpp"
#include "io/hdf5_attributes.hpp"
#include "io/hdf5_dataset.hpp"
#include "io/hdf5_names.hpp"
#include "io/hdf5_types.hpp"
#include "io/signal_formats.hpp"

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
    explicit Hdf5SignalReader(const PathSpec& spec) : raw_(spec.file) {
        const Hdf5Lock lock;
        file_ = Hdf5Id(H5Fopen(spec.file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
        if (!file_)
            throw BadData(message(spec.file, " cannot be read as HDF5: ", hdf5_reason(),
                                  "; it is truncated, damaged or open for writing, copy it again"));
        try {
            const Hdf5Source source{file_.get(), raw_};
            const std::string name = spec.dataset.empty()
                                         ? default_dataset(source, list_datasets(source.id))
                                         : named_dataset(source, spec.dataset);
            dataset_.emplace(source.id, raw_, name, true);
        } catch (...) {
            file_.close();
            throw;
        }
        info_ = {"HDF5", dataset_->type(), dataset_->dims()};
    }

    ~Hdf5SignalReader() override {
        const Hdf5Lock lock;
        dataset_.reset();
        file_.close();
    }

    const SignalInfo& info() const override { return info_; }

    void read(index_t signal, index_t begin, index_t count, void* to) override {
        check_range(info_.dims, signal, begin, count);
        if (count == 0) return;
        const Hdf5Lock lock;
        dataset_->read_box(range_start(info_.dims, signal, begin), range_counts(info_.dims, count),
                           to);
    }

  private:
    RawFile raw_;
    Hdf5Id file_;
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
          output_(spec.file, options.overwrite,
                  checked_add(total_bytes(dims_, type), hdf5_header_bytes)) {
        const Hdf5Lock lock;
        try {
            file_ = Hdf5Id(
                H5Fcreate(output_.temporary().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                H5Fclose);
            check(static_cast<bool>(file_));
            type_ = memory_type_of(type);
            create_dataset(spec.dataset.empty() ? "/data" : spec.dataset);
            if (!options.software.empty())
                write_text_attribute(dataset_.get(), "software", options.software);
        } catch (...) {
            close();
            throw;
        }
    }

    ~Hdf5SignalWriter() override {
        const Hdf5Lock lock;
        close();
    }

    void write(index_t row, index_t begin, index_t count, const void* from) override {
        check_range(dims_, row, begin, count);
        if (count == 0) return;
        const Hdf5Lock lock;
        const std::vector<hsize_t> start = range_start(dims_, row, begin);
        const std::vector<hsize_t> counts = range_counts(dims_, count);
        const Hdf5Id file_space(H5Dget_space(dataset_.get()), H5Sclose);
        const Hdf5Id memory_space(
            H5Screate_simple(static_cast<int>(counts.size()), counts.data(), nullptr), H5Sclose);
        check(file_space && memory_space &&
              H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr,
                                  counts.data(), nullptr) >= 0 &&
              H5Dwrite(dataset_.get(), type_.get(), memory_space.get(), file_space.get(),
                       H5P_DEFAULT, from) >= 0);
    }

    void commit() override {
        const Hdf5Lock lock;
        check(close());
        output_.commit();
    }

  private:
    void check(bool done) const {
        if (!done) throw IoError(output_.failure(hdf5_reason()));
    }

    bool close() {
        const bool type_closed = type_.close();
        const bool dataset_closed = dataset_.close();
        return file_.close() && dataset_closed && type_closed;
    }

    // Contiguous: rows are written some samples at a time, in any order.
    void create_dataset(const std::string& name) {
        const std::vector<hsize_t> dims(dims_.begin(), dims_.end());
        const Hdf5Id space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr),
                           H5Sclose);
        const Hdf5Id properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        const Hdf5Id links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
        check(space && properties && links && type_);
        check(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER) >= 0);
        check(H5Pset_create_intermediate_group(links.get(), 1) >= 0);
        dataset_ = Hdf5Id(H5Dcreate2(file_.get(), name.c_str(), type_.get(), space.get(),
                                     links.get(), properties.get(), H5P_DEFAULT),
                          H5Dclose);
        if (!dataset_)
            throw CannotCreate(message("cannot create the dataset ", name, " in ", output_.target(),
                                       ": ", hdf5_reason()));
    }

    std::vector<index_t> dims_;
    AtomicOutput output_;
    Hdf5Id file_;
    Hdf5Id type_;
    Hdf5Id dataset_;
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
