// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arrays of samples that lie in a file as they are, read and written in parts of any shape.

#include <vector>

#include "convolume/image_view.hpp"
#include "io/atomic_output.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {

/// Element (z, y, x) is at offset + (z, y, x) · strides (in elements, not negative).
struct FileArray {
    index_t offset = 0;
    Index3 strides;
    bool swapped = false;  ///< bytes in the other order than this machine's

    /// The same from element `begin` on, for elements of that size.
    FileArray from(const Index3& begin, index_t bytes_each) const;
};

/// Samples of a file and where they are in memory.
template <class View>
struct FilePart {
    FileArray array;
    View view;
};

/// Reads view.shape elements of each part, large parts by several threads: straight into memory
/// where elements lie alike in both, otherwise through a small buffer.
void read_parts(const RawFile& file, const std::vector<FilePart<ImageView>>& parts);
/// The same for one part.
void read_array(const RawFile& file, const FileArray& array, const ImageView& target);

/// Writes source.shape elements, in this machine's byte order, straight from memory where elements
/// lie alike.
void write_array(AtomicOutput& output, const FileArray& array, const ConstImageView& source);

}  // namespace convolume::io
