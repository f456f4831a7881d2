// SPDX-License-Identifier: Apache-2.0
#pragma once
// One dataset: what it holds, and boxes of it.

#include <string>
#include <vector>

#include "io/axis_layout.hpp"
#include "io/hdf5_handle.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {

class Hdf5Dataset {
  public:
    /// Throws BadData for what cannot be read or claims more than `file` can hold. Integers of 64
    /// bits, which no PixelType holds, can be read with `allow_wide`: as float64.
    Hdf5Dataset(hid_t file_id, const RawFile& file, const std::string& name,
                bool allow_wide = false);

    hid_t id() const { return dataset_.get(); }
    PixelType type() const { return type_; }
    const std::vector<index_t>& dims() const { return dims_; }
    /// "file.h5:/name"
    const std::string& full_name() const { return full_name_; }

    /// Reads from `start` on as many elements along z, y, x of `layout` as `target` has.
    void read(const AxisLayout& layout, std::vector<index_t> start, const ImageView& target) const;
    /// Reads a box of `count` elements along every dimension to `target`, contiguous.
    void read_box(const std::vector<hsize_t>& start, const std::vector<hsize_t>& count,
                  void* target) const;

  private:
    void check_storage(hid_t properties, const RawFile& file);
    void check_filters(hid_t properties) const;

    Hdf5Id dataset_;
    std::string full_name_;
    PixelType type_ = PixelType::uint8;
    std::vector<index_t> dims_;
    std::vector<index_t> chunk_;  ///< 1s where it is not chunked
};

}  // namespace convolume::io
