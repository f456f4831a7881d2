// SPDX-License-Identifier: Apache-2.0
#include "io/file_array.hpp"
#include "io/tiff/page_directories.hpp"

namespace convolume::io {
namespace {

class RawTiffWriter : public ImageWriter {
  public:
    RawTiffWriter(const std::string& path, const ImageMetadata& metadata,
                  const CreateOptions& options, const TiffText& text)
        : metadata_(metadata),
          text_(text),
          pages_(metadata.frames * metadata.channels * metadata.shape.z),
          plane_bytes_(metadata.bytes() / pages_),
          // Directories hold offsets that 32 bits can take, on even addresses.
          directories_offset_(round_up(checked_add(tiff_data_offset, metadata.bytes()), 16)),
          output_(path, options.overwrite, directories_offset_ + directories_bytes()),
          ranges_(metadata.channels) {
        output_.reserve(0, directories_offset_ + directories_bytes());
    }

    StackFormat format() const override { return stack_format(metadata_); }

    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) override {
        check_box(format(), t, c, box, source);
        const auto page = [&](index_t z) { return page_number(metadata_, text_, t, c, z); };
        FileArray volume{tiff_data_offset + page(0) * plane_bytes_,
                         contiguous_strides(metadata_.shape)};
        volume.strides.z *= page(1) - page(0);
        write_array(output_, volume.from(box.begin, static_cast<index_t>(size_of(metadata_.type))),
                    source);
        written_.add(source);
        if (!text_.ome) ranges_.add(c, source);
    }

    void commit() override {
        written_.finish(metadata_);
        set_display_ranges(metadata_, text_, ranges_);
        write_directories(output_, text_.big, directories_offset_, pages_,
                          [&](index_t page) { return directory_of(page); });
        output_.commit();
    }

  protected:
    const ImageMetadata& metadata() const override { return metadata_; }

  private:
    TiffDirectory directory_of(index_t page) const {
        return page_directory(metadata_, text_, page == 0,
                              {1,
                               1,
                               metadata_.shape.y,
                               {static_cast<std::uint64_t>(tiff_data_offset + page * plane_bytes_)},
                               {static_cast<std::uint64_t>(plane_bytes_)}});
    }

    index_t directories_bytes() const {
        return directory_of(0).size() + (pages_ > 1 ? (pages_ - 1) * directory_of(1).size() : 0);
    }

    ImageMetadata metadata_;
    TiffText text_;
    index_t pages_;
    index_t plane_bytes_;
    index_t directories_offset_;
    AtomicOutput output_;
    WriteCount written_;
    ChannelRanges ranges_;
};

}  // namespace

std::unique_ptr<ImageWriter> create_raw_tiff(const std::string& path, const ImageMetadata& metadata,
                                             const CreateOptions& options, const TiffText& text) {
    return std::make_unique<RawTiffWriter>(path, metadata, options, text);
}

}  // namespace convolume::io
