// SPDX-License-Identifier: Apache-2.0
#pragma once
// One dataset: what it holds, and boxes of it.

#include <array>
#include <string>
#include <vector>

#include "io/axis_layout.hpp"
#include "io/hdf5/files.hpp"
#include "io/hdf5/storage.hpp"

namespace convolume::io {

/// A volume of a dataset: where it begins along every dimension, and which dimension is z, y, x.
struct Hdf5Volume {
    std::vector<index_t> first;
    std::array<int, 3> dimension{-1, -1, -1};  ///< -1: there is none
};

class Hdf5Dataset {
  public:
    /// Throws BadData for what cannot be read or claims more than its file can hold, and as
    /// Hdf5Files::find(). Integers of 64 bits are float64, and reading them throws BadData where a
    /// value is beyond ±2^53. With `library_only`, storage() is not looked for: HDF5 reads all.
    Hdf5Dataset(Hdf5Files& files, const std::string& name, bool library_only = false);
    ~Hdf5Dataset();
    Hdf5Dataset(const Hdf5Dataset&) = delete;
    Hdf5Dataset& operator=(const Hdf5Dataset&) = delete;

    hid_t id() const { return dataset_.get(); }
    PixelType type() const { return type_; }
    const std::vector<index_t>& dims() const { return dims_; }
    /// 1s where it is not chunked.
    const std::vector<index_t>& chunk() const { return chunk_; }
    const Hdf5Storage& storage() const { return storage_; }
    const RawFile& file() const { return place_.raw; }
    /// "file.h5:/name"
    const std::string& full_name() const { return full_name_; }

    /// Channel c at time t of a dataset with that layout, which may have more or fewer leading
    /// dimensions of 1.
    Hdf5Volume volume(const AxisLayout& layout, index_t t, index_t c) const;

    /// Looks every chunk up in a helper process, if damage is to be contained, and throws what
    /// comes of it. The thread holds Hdf5Lock.
    void try_chunks() const;

    /// Reads a box of the volume through HDF5: in helper processes where damage is to be contained
    /// and could do harm. The thread holds Hdf5Lock.
    void read(const Hdf5Volume& volume, const Box3& box, const ImageView& target) const;
    /// The same for a box of `count` elements along every dimension, to contiguous memory.
    void read_box(const std::vector<hsize_t>& start, const std::vector<hsize_t>& count,
                  void* target) const;
    /// The bytes of the chunk at that place among the chunks, and the filters that it did not go
    /// through; no bytes where HDF5 does not give them, mostly since it was never written.
    std::vector<char> read_stored_chunk(const std::vector<index_t>& place, unsigned& skipped) const;

    /// Reads that chunk through HDF5. What lies beyond the end of the dataset stays as it is.
    void read_chunk(const std::vector<index_t>& place, char* samples) const;

    /// Throws BadData, or IoError when the file was changed since it was opened.
    [[noreturn]] void refuse(const std::string& reason) const;

  private:
    void open(index_t cache_bytes);
    index_t chunk_bytes() const;
    /// Whether HDF5 may read samples in this process.
    bool is_trusted() const;
    // Reading in this process.
    void read_here(const Hdf5Volume& volume, const Box3& box, const ImageView& target) const;
    void read_box_here(const std::vector<hsize_t>& start, const std::vector<hsize_t>& count,
                       void* target) const;
    /// `bytes_each` are those of an element in the file.
    void check_storage(hid_t properties, std::size_t bytes_each);
    void check_filters(hid_t properties);
    /// Makes float64 of integers of 64 bits, in place.
    void widen(const std::vector<hsize_t>& start, const std::vector<hsize_t>& count,
               void* samples) const;

    Hdf5Place place_;
    Hdf5Id dataset_;
    std::string full_name_;
    Hdf5Id read_type_;  // what HDF5 gives samples as
    PixelType type_ = PixelType::uint8;
    WideInteger wide_ = WideInteger::none;
    std::vector<index_t> dims_;
    std::vector<index_t> chunk_;
    Hdf5Storage storage_;
    bool chunked_ = false;
    bool plug_ins_ = false;      // among the filters
    bool weak_filters_ = false;  // of HDF5: those that can crash on damaged samples
    bool plain_ = false;         // samples that HDF5 need neither convert nor decode
};

}  // namespace convolume::io
