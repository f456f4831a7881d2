// SPDX-License-Identifier: Apache-2.0
#pragma once
// A dataset of an HDF5 file: its properties, and reading boxes of it.

#include <array>
#include <string>
#include <vector>

#include "io/axis_layout.hpp"
#include "io/hdf5/files.hpp"
#include "io/hdf5/storage.hpp"

namespace convolume::io {

/// A volume of a dataset: its first index along every dimension, and the dimensions of z, y, x.
struct Hdf5Volume {
    std::vector<index_t> first;
    std::array<int, 3> dimension{-1, -1, -1};  ///< dimension of z, y, x; -1 if there is none
};

class Hdf5Dataset {
  public:
    /// Opens and checks a dataset. Integers of 64 bits are read as float64. With `library_only`,
    /// HDF5 reads all samples and storage() is not determined. Throws BadData if the dataset cannot
    /// be read or claims more than the file can hold, and what Hdf5Files::find() throws.
    Hdf5Dataset(Hdf5Files& files, const std::string& name, bool library_only = false);
    ~Hdf5Dataset();
    Hdf5Dataset(const Hdf5Dataset&) = delete;
    Hdf5Dataset& operator=(const Hdf5Dataset&) = delete;

    hid_t id() const { return dataset_.get(); }
    PixelType type() const { return type_; }
    const std::vector<index_t>& dims() const { return dims_; }
    /// Returns the shape of an HDF5 chunk; 1 along each dimension if the dataset is not chunked.
    const std::vector<index_t>& chunk() const { return chunk_; }
    const Hdf5Storage& storage() const { return storage_; }
    const RawFile& file() const { return location_.raw; }
    /// Returns the full name, such as "file.h5:/name".
    const std::string& full_name() const { return full_name_; }

    /// Returns channel c at time t, if the axes of the dataset are `layout`. The layout may have
    /// more or fewer leading dimensions of 1.
    Hdf5Volume volume(const AxisLayout& layout, index_t t, index_t c) const;

    /// Looks up HDF5 chunks in a helper process, if damage is to be contained. Throws its error.
    /// The caller holds Hdf5Lock.
    void try_chunks() const;

    /// Reads a box of the volume through HDF5. Uses helper processes if damage is to be contained
    /// and could do harm. The caller holds Hdf5Lock.
    void read(const Hdf5Volume& volume, const Box3& box, const ImageView& target) const;
    /// Reads a box of `count` elements along every dimension to contiguous memory, like read().
    void read_box(const std::vector<hsize_t>& start, const std::vector<hsize_t>& count,
                  void* target) const;
    /// Returns the stored bytes of an HDF5 chunk, which has an index along every dimension. Sets
    /// the bits of `skipped` for filters that were not applied. Returns no bytes if HDF5 gives
    /// none, in most cases because the HDF5 chunk was never written.
    std::vector<char> read_stored_chunk(const std::vector<index_t>& chunk_index,
                                        unsigned& skipped) const;

    /// Reads an HDF5 chunk through HDF5, without samples beyond the end of the dataset.
    void read_chunk(const std::vector<index_t>& chunk_index, char* samples) const;

    /// Throws BadData with `reason`, or IoError if the file was changed since it was opened.
    [[noreturn]] void refuse(const std::string& reason) const;

  private:
    void open(index_t cache_bytes);
    index_t chunk_bytes() const;
    /// Tells whether HDF5 may read samples in this process.
    bool is_trusted() const;
    /// Reads a box without a helper process.
    void read_here(const Hdf5Volume& volume, const Box3& box, const ImageView& target) const;
    void read_box_here(const std::vector<hsize_t>& start, const std::vector<hsize_t>& count,
                       void* target) const;
    /// Checks that the storage is supported and fits into the file. `bytes_each` is an element's
    /// size.
    void check_storage(hid_t properties, std::size_t bytes_each);
    void check_filters(hid_t properties);
    /// Converts integers of 64 bits to float64 in place. Throws BadData for a value beyond ±2^53.
    void widen(const std::vector<hsize_t>& start, const std::vector<hsize_t>& count,
               void* samples) const;

    Hdf5Location location_;
    Hdf5Id dataset_;
    std::string full_name_;
    Hdf5Id read_type_;  // type in memory as which HDF5 reads samples
    PixelType type_ = PixelType::uint8;
    WideInteger wide_ = WideInteger::none;
    std::vector<index_t> dims_;
    std::vector<index_t> chunk_;
    Hdf5Storage storage_;
    bool is_chunked_ = false;
    bool has_plug_in_filters_ = false;  // some filters are plug-ins
    bool has_weak_filters_ = false;     // some filters of HDF5 can crash on damaged samples
    bool is_plain_ = false;             // HDF5 reads samples without conversion or decoding
};

}  // namespace convolume::io
