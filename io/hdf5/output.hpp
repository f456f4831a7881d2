// SPDX-License-Identifier: Apache-2.0
#pragma once
// An HDF5 output file and the one dataset that is written to it.

#include <string>
#include <vector>

#include "convolume/image_file.hpp"
#include "io/atomic_output.hpp"
#include "io/hdf5/library.hpp"

namespace convolume::io {

/// Writer of one dataset. If the path names a dataset of an existing file, the rest of the file is
/// kept. The dataset is added to a copy of the file, or with `overwrite` replaced in it, and the
/// copy then takes the file's name. Otherwise the file is new. Members throw IoError, as
/// AtomicOutput does.
class Hdf5Output {
  public:
    /// Creates the temporary file. Throws CannotCreate if HDF5 cannot open the file, the name is
    /// not that of a dataset, or a link in its path leads to another file. Attributes of more than
    /// 64 KiB need the file format of HDF5 1.8, which is used if `has_large_attributes`.
    Hdf5Output(const PathSpec& path, bool overwrite, index_t expected_bytes,
               bool has_large_attributes = false);
    ~Hdf5Output();
    Hdf5Output(const Hdf5Output&) = delete;
    Hdf5Output& operator=(const Hdf5Output&) = delete;

    /// Creates the dataset and its groups. `properties` are the dataset's creation properties.
    void create_dataset(hid_t type, const std::vector<hsize_t>& dims, hid_t properties);
    hid_t dataset() const { return dataset_.get(); }

    /// Writes a box of the dataset from samples of `type`.
    void write(const std::vector<hsize_t>& start, const std::vector<hsize_t>& count, hid_t type,
               const void* data);

    /// Stores the HDF5 chunk whose first sample is `start`, with filters already applied.
    void write_chunk(const std::vector<hsize_t>& start, const std::vector<char>& stored);

    /// Returns the offset in file() of a contiguous dataset, which was created with early
    /// allocation.
    index_t dataset_offset() const;
    AtomicOutput& file() { return output_; }

    /// Closes the file and gives it its final name. If a dataset is named, throws IoError if the
    /// file was changed or created since construction.
    void commit();

    /// Throws IoError with HDF5's reason unless `done`. The caller holds Hdf5Lock.
    void check(bool done) const;

  private:
    bool close();
    void copy_existing();
    void open_copy(bool has_large_attributes);
    void remove_dataset();

    std::string name_;
    bool keeps_other_objects_;  // true if the dataset is added to an existing file
    std::string
        copied_state_;  // state of the existing file that was copied; empty if there was none
    AtomicOutput output_;
    Hdf5Id file_;
    Hdf5Id dataset_;
};

}  // namespace convolume::io
