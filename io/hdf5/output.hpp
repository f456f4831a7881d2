// SPDX-License-Identifier: Apache-2.0
#pragma once
// An HDF5 output file and the one dataset that is written to it.

#include <string>
#include <vector>

#include "convolume/image_file.hpp"
#include "io/atomic_output.hpp"
#include "io/hdf5/library.hpp"

namespace convolume::io {

/// Where the path names a dataset of a file that exists, everything else in the file is kept: the
/// dataset is added to a copy, or replaced in it, and the copy takes the file's name. Otherwise the
/// file is new. Members throw IoError, as AtomicOutput does.
class Hdf5Output {
  public:
    /// Also throws CannotCreate where the file cannot be opened by HDF5, the name is that of
    /// something else than a dataset, or the way to it leaves the file.
    Hdf5Output(const PathSpec& path, bool overwrite, index_t expected_bytes);
    ~Hdf5Output();
    Hdf5Output(const Hdf5Output&) = delete;
    Hdf5Output& operator=(const Hdf5Output&) = delete;

    /// Creates the dataset, and the groups it lies in; `properties` are a dataset's.
    void create_dataset(hid_t type, const std::vector<hsize_t>& dims, hid_t properties);
    hid_t dataset() const { return dataset_.get(); }

    /// Writes a box of the dataset, of samples of `type`.
    void write(const std::vector<hsize_t>& start, const std::vector<hsize_t>& count, hid_t type,
               const void* data);

    /// Stores a chunk as it is in the file, filters applied; `start` is its first sample.
    void write_chunk(const std::vector<hsize_t>& start, const std::vector<char>& stored);

    /// Where the samples of a contiguous dataset, created with early allocation, are in file().
    index_t dataset_offset() const;
    AtomicOutput& file() { return output_; }

    /// Closes the file and gives it its name. Throws IoError where a dataset is named and the file
    /// has changed, or appeared, since this began.
    void commit();

    /// Throws IoError with HDF5's reason unless `done`. The caller holds an Hdf5Lock.
    void check(bool done) const;

  private:
    bool close();
    void copy_existing();
    void open_copy();
    void remove_dataset();

    std::string name_;
    bool adds_;           // a dataset to a file, if there is one
    std::string copied_;  // the state of that file; empty where there was none
    AtomicOutput output_;
    Hdf5Id file_;
    Hdf5Id dataset_;
};

}  // namespace convolume::io
