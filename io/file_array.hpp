// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arrays of samples that a file stores uncompressed. Boxes of any shape are read and written.

#include <vector>

#include "convolume/image_view.hpp"
#include "io/atomic_output.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {

/// Location of a strided array in a file. Its strides count elements and are not negative. Element
/// (z, y, x) is at the byte
///     offset + (z, y, x) · strides · bytes per element.
struct FileArray {
    index_t offset = 0;
    Index3 strides;
    bool swapped = false;  ///< true if the byte order differs from this machine's

    /// Returns the location of the array from element `begin` on. Elements have `bytes_each` bytes.
    FileArray from(const Index3& begin, index_t bytes_each) const;
};

/// A box of samples: its location in the file, and its view in memory.
template <class View>
struct FileBox {
    FileArray array;
    View view;
};

/// Reads view.shape elements of each box. Several threads read large boxes. Samples go straight
/// into memory if their order there is that of the file, otherwise through a small buffer.
void read_boxes(const RawFile& file, const std::vector<FileBox<ImageView>>& boxes);
/// Reads target.shape elements of one array.
void read_array(const RawFile& file, const FileArray& array, const ImageView& target);

/// Writes source.shape elements, in this machine's byte order. Samples are written straight from
/// memory if their order there is that of the file.
void write_array(AtomicOutput& output, const FileArray& array, const ConstImageView& source);

}  // namespace convolume::io
