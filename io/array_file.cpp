// SPDX-License-Identifier: Apache-2.0
#include "io/array_file.hpp"

#include <algorithm>
#include <utility>

#include "convolume/error.hpp"
#include "io/atomic_output.hpp"

namespace convolume::io {
namespace {

class ArrayReader : public ImageReader {
  public:
    ArrayReader(std::unique_ptr<const RawFile> file, ImageArray array, ImageMetadata metadata)
        : file_(std::move(file)), array_(std::move(array)), metadata_(std::move(metadata)) {
        metadata_.type = array_.element.type;
        set_extents(metadata_, array_.layout);
    }

    const ImageMetadata& metadata() const override { return metadata_; }
    StackFormat format() const override { return stack_format(metadata_); }
    void check_unchanged() const override { file_->check_unchanged(); }

    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override {
        check_box(format(), t, c, box, target);
        index_t first = 0;
        const std::vector<index_t> at = array_.layout.position(t, c, 0);
        for (std::size_t d = 0; d < at.size(); ++d) first += at[d] * array_.strides[d];
        const index_t bytes_each = array_.element.bytes();
        const FileArray volume{array_.offset + first * bytes_each,
                               {stride('Z'), stride('Y'), stride('X')},
                               array_.swapped};
        read_elements(*file_, array_.element, volume.from(box.begin, bytes_each), target);
    }

  private:
    index_t stride(char axis) const {
        const int d = array_.layout.dimension(axis);
        return d < 0 ? 0 : array_.strides[static_cast<std::size_t>(d)];
    }

    std::unique_ptr<const RawFile> file_;
    ImageArray array_;
    ImageMetadata metadata_;
};

class ArrayWriter : public FileWriter {
  public:
    ArrayWriter(const std::string& path, const std::string& header, const ImageMetadata& metadata,
                const CreateOptions& options)
        : FileWriter(metadata),
          offset_(static_cast<index_t>(header.size())),
          output_(path, options.overwrite, checked_add(metadata.bytes(), offset_)) {
        output_.write(0, header.data(), offset_);
        output_.reserve(offset_, metadata.bytes());
    }

    StackFormat format() const override { return stack_format(metadata_); }

  private:
    void write_checked_box(index_t t, index_t c, const Box3& box,
                           const ConstImageView& source) override {
        write_to_array(output_, offset_, t, c, box, source);
    }
    void complete() override { output_.commit(); }

    index_t offset_;
    AtomicOutput output_;
};

}  // namespace

void check_array_size(const RawFile& file, const std::vector<index_t>& dims,
                      const ElementType& element, index_t offset) {
    index_t bytes = element.bytes();
    for (const index_t extent : dims) {
        if (bytes > file.size() / extent)
            throw BadData(message(file.path(), " says that it holds ", dims_text(dims), " ",
                                  to_string(element.type), " in a file of ", file.size(),
                                  " bytes; it is truncated or damaged"));
        bytes *= extent;
    }
    if (bytes > file.size() - offset)
        throw BadData(message(file.path(), " holds ", std::max<index_t>(0, file.size() - offset),
                              " of the ", bytes,
                              " bytes its header names; it is truncated, copy it again"));
}

std::vector<index_t> array_strides(const std::vector<index_t>& dims, bool fortran_order) {
    const std::size_t rank = dims.size();
    std::vector<index_t> strides(rank, 1);
    for (std::size_t i = 1; i < rank; ++i) {
        // The fastest dimension is the last one in C order, the first one in Fortran order.
        const std::size_t d = fortran_order ? i : rank - 1 - i;
        const std::size_t faster = fortran_order ? i - 1 : rank - i;
        strides[d] = strides[faster] * dims[faster];
    }
    return strides;
}

void read_elements(const RawFile& file, const ElementType& element, const FileArray& array,
                   const ImageView& target) {
    if (!element.is_half && element.wide == WideInteger::none)
        return read_array(file, array, target);
    // Elements are converted row by row, so that the buffer is small.
    const index_t count = target.shape.x;
    std::vector<double> row(static_cast<std::size_t>(count));
    std::vector<std::uint16_t> halves(element.is_half ? row.size() : 0);
    const Index3 strides = contiguous_strides({1, 1, count});
    for (index_t z = 0; z < target.shape.z; ++z)
        for (index_t y = 0; y < target.shape.y; ++y) {
            const FileArray stored = array.from({z, y, 0}, element.bytes());
            const PixelType type = element.is_half ? PixelType::uint16 : element.type;
            void* const raw = element.is_half ? static_cast<void*>(halves.data()) : row.data();
            read_array(file, stored, {raw, type, {1, 1, count}, strides});
            if (element.is_half)
                widen_short_floats(halves.data(), count, SampleStorage::float16,
                                   reinterpret_cast<float*>(row.data()));
            if (const auto inexact = widen_integers(row.data(), count, element.wide))
                throw BadData(message(file.path(), " holds ", inexact->text, inexact_integer_cure));
            copy_view({row.data(), element.type, {1, 1, count}, strides},
                      subview(target, {{z, y, 0}, {z + 1, y + 1, count}}));
        }
}

std::unique_ptr<ImageReader> open_array(std::unique_ptr<const RawFile> file, ImageArray array,
                                        ImageMetadata metadata) {
    return std::make_unique<ArrayReader>(std::move(file), std::move(array), std::move(metadata));
}

std::unique_ptr<ImageWriter> create_array(const std::string& format, const std::string& path,
                                          const std::string& header, const ImageMetadata& metadata,
                                          const CreateOptions& options) {
    if (options.compression != Compression::none)
        throw InvalidArgument(
            message(format, " files have no compression; write TIFF or HDF5, or leave it out"));
    refuse_scaling(metadata, format);
    return std::make_unique<ArrayWriter>(path, header, metadata, options);
}

}  // namespace convolume::io
