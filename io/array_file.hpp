// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files that are a header and one array of samples, such as NPY and MRC.

#include <memory>
#include <string>
#include <vector>

#include "io/axis_layout.hpp"
#include "io/file_array.hpp"
#include "io/image_file.hpp"
#include "io/raw_file.hpp"
#include "io/samples.hpp"

namespace convolume::io {

/// Type of the elements of an array in a file.
struct ElementType {
    PixelType type = PixelType::float32;  ///< type of the samples that the elements are read as
    /// Type of stored 64-bit integers, for which `type` is float64.
    WideInteger wide = WideInteger::none;
    bool is_half = false;  ///< true for half precision; `type` is then float32

    /// Returns the bytes of an element in the file.
    index_t bytes() const { return is_half ? 2 : static_cast<index_t>(size_of(type)); }
};

/// Throws BadData unless the file has an array of `dims` at `offset`.
void check_array_size(const RawFile& file, const std::vector<index_t>& dims,
                      const ElementType& element, index_t offset);

/// Returns the strides of an array of `dims`, in elements.
std::vector<index_t> array_strides(const std::vector<index_t>& dims, bool fortran_order = false);

/// Reads the elements of `array` to `target`, which has their type and shape. Throws BadData for
/// integers that float64 does not hold.
void read_elements(const RawFile& file, const ElementType& element, const FileArray& array,
                   const ImageView& target);

struct ImageArray {
    ElementType element;
    AxisLayout layout;
    std::vector<index_t> strides{};  ///< strides of the dimensions of `layout`, in elements
    index_t offset = 0;              ///< position of the first element in bytes
    bool swapped = false;            ///< true if the byte order differs from this machine's
};

/// Returns a reader of an image whose samples are `array`. Sets extents and type of `metadata`.
std::unique_ptr<ImageReader> open_array(std::unique_ptr<const RawFile> file, ImageArray array,
                                        ImageMetadata metadata);

/// Returns a writer of a file of `header` and the samples in the order t, c, z, y, x, slowest
/// first. Throws InvalidArgument for options and scalings that no such file has. `format` is the
/// name of the format in messages.
std::unique_ptr<ImageWriter> create_array(const std::string& format, const std::string& path,
                                          const std::string& header, const ImageMetadata& metadata,
                                          const CreateOptions& options);

}  // namespace convolume::io
