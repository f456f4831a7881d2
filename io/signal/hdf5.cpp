// SPDX-License-Identifier: Apache-2.0
// Readers and writers of signals in datasets of HDF5 files.

#include "io/hdf5/attributes.hpp"
#include "io/hdf5/dataset.hpp"
#include "io/hdf5/files.hpp"
#include "io/hdf5/library.hpp"
#include "io/hdf5/output.hpp"
#include "io/hdf5/storage.hpp"
#include "io/signal/coordinates.hpp"
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

class Hdf5SignalReader : public SignalReaderBase {
  public:
    explicit Hdf5SignalReader(const PathSpec& spec) : files_(spec.file) {
        const Hdf5Lock lock;
        files_.open([&] { find_dataset(spec.dataset); }, [&] { dataset_.reset(); });
        info_ = {"HDF5", dataset_->type(), dataset_->dims()};
        info_.coordinates = coordinates_;
        check_coordinates(spec.file, info_.coordinates, info_.dims);
        dataset_->try_chunks();
    }

    void read(index_t signal, index_t begin, index_t count, void* to) override {
        check_range(info_.dims, signal, begin, count);
        if (count == 0) return;
        const Hdf5Lock lock;
        dataset_->read_box(range_start(info_.dims, signal, begin), range_counts(info_.dims, count),
                           to);
        files_.check_unchanged();
    }

  private:
    void find_dataset(const std::string& dataset) {
        const Hdf5Source source{files_, ""};
        const std::string name = dataset.empty()
                                     ? default_dataset(source, list_datasets(source), 1).name
                                     : named_dataset(source, dataset);
        dataset_.emplace(files_, name, true);
        read_coordinates(dataset_->id());
    }

    void read_coordinates(hid_t dataset) {
        coordinates_ = {};
        const auto rate = number_attribute(dataset, coordinate_names::sampling_rate);
        const auto start = number_attribute(dataset, coordinate_names::start);
        if (rate.size() != 1) return;
        coordinates_.sampling_rate_hz = rate[0];
        if (start.size() == 1) coordinates_.start_s = start[0];
        coordinates_.center_frequencies_hz =
            number_attribute(dataset, coordinate_names::center_frequencies, most_frequencies);
    }

    Hdf5Files files_;
    std::optional<Hdf5Dataset> dataset_;
    SignalCoordinates coordinates_;
};

/// Returns the HDF5 type of samples in this machine's memory.
Hdf5Id memory_type_of(SampleType type) {
    const auto pixels = pixel_type_of(type);
    return pixels ? memory_type(*pixels) : Hdf5Id(H5Tcopy(H5T_NATIVE_INT64), H5Tclose);
}

class Hdf5SignalWriter : public SignalWriter {
  public:
    explicit Hdf5SignalWriter(const NewSignals& signals)
        : dims_(signals.dims),
          type_(signals.type),
          output_(signals.path, signals.options.overwrite,
                  checked_add(signals.expected_bytes(bytes_of(type_)), hdf5_header_bytes),
                  static_cast<index_t>(signals.options.coordinates.center_frequencies_hz.size()) >
                      most_compact) {
        const Hdf5Lock lock;
        // The dataset is contiguous, since samples of any row are written in any order.
        const Hdf5Id properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        const Hdf5Id memory = memory_type_of(type_);
        output_.check(properties && memory &&
                      H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER) >= 0);
        output_.create_dataset(memory.get(), std::vector<hsize_t>(dims_.begin(), dims_.end()),
                               properties.get());
        if (const std::string& software = signals.options.software; !software.empty())
            write_text_attribute(output_.dataset(), "software", software);
        write_coordinates(signals.options.coordinates);
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
    // Most numbers of an attribute that every version of HDF5 can store.
    static constexpr index_t most_compact = 8000;

    void write_coordinates(const SignalCoordinates& coordinates) {
        if (!coordinates.sampling_rate_hz) return;
        const auto store = [&](const char* name, const std::vector<double>& values) {
            if (!values.empty())
                write_number_attribute(output_.dataset(), name, H5T_IEEE_F64LE, values);
        };
        store(coordinate_names::sampling_rate, {*coordinates.sampling_rate_hz});
        store(coordinate_names::start, {coordinates.start_s});
        store(coordinate_names::center_frequencies, coordinates.center_frequencies_hz);
    }

    std::vector<index_t> dims_;
    SampleType type_;
    Hdf5Output output_;
};

}  // namespace

std::unique_ptr<SignalReader> open_hdf5_signal(const PathSpec& spec) {
    return std::make_unique<Hdf5SignalReader>(spec);
}

std::unique_ptr<SignalWriter> create_hdf5_signal(const NewSignals& signals) {
    return std::make_unique<Hdf5SignalWriter>(signals);
}

}  // namespace convolume::io
