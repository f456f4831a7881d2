// SPDX-License-Identifier: Apache-2.0
#include "io/tiff/writer.hpp"

#include <bit>

#include "convolume/error.hpp"
#include "io/file_array.hpp"
#include "io/ome/document.hpp"

namespace convolume::io {
namespace {

std::string header_bytes(bool big, index_t first_directory) {
    std::string header = std::endian::native == std::endian::little ? "II" : "MM";
    const auto append = [&](auto value) {
        header.append(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    append(static_cast<std::uint16_t>(big ? 43 : 42));
    if (big) {
        append(std::uint16_t{8});
        append(std::uint16_t{0});
        append(static_cast<std::uint64_t>(first_directory));
    } else {
        append(static_cast<std::uint32_t>(first_directory));
    }
    return header;
}

/// Classic TIFF ends at 4 GiB; the decision is made before anything is compressed, with room to
/// spare.
constexpr index_t classic_limit_bytes = (index_t{1} << 32) - (index_t{32} << 20);
constexpr index_t directory_bytes = 256;

/// Tells whether ImageJ's own reader takes such pixels.
bool imagej_holds(PixelType type, Compression compression) {
    return (type == PixelType::uint8 || type == PixelType::uint16 || type == PixelType::float32) &&
           compression != Compression::zstd;
}

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

index_t page_number(const ImageMetadata& metadata, const TiffText& text, index_t t, index_t c,
                    index_t z) {
    const index_t slices = metadata.shape.z;
    const index_t channels = metadata.channels;
    return text.ome ? (t * channels + c) * slices + z : (t * slices + z) * channels + c;
}

TiffDirectory page_directory(const ImageMetadata& metadata, const TiffText& text, bool first,
                             const TiffStrips& strips) {
    TiffDirectory d(text.big);
    d.add_long(254, 0);
    d.add_long(256, static_cast<std::uint32_t>(metadata.shape.x));
    d.add_long(257, static_cast<std::uint32_t>(metadata.shape.y));
    d.add_short(258, static_cast<std::uint16_t>(size_of(metadata.type) * 8));
    d.add_short(259, strips.compression);
    d.add_short(262, 1);  // zero is black
    if (first) d.add_text(270, text.description);
    d.add_offsets(273, strips.offsets);
    d.add_short(277, 1);
    d.add_long(278, static_cast<std::uint32_t>(strips.rows));
    d.add_offsets(279, strips.bytes);
    d.add_rational(282, text.pixels_per_unit[1]);
    d.add_rational(283, text.pixels_per_unit[0]);
    d.add_short(296, text.resolution_unit);
    if (first && !text.software.empty()) d.add_text(305, text.software);
    if (strips.predictor > 1) d.add_short(317, strips.predictor);
    d.add_short(339, sample_format(metadata.type));
    if (first && !text.ome && !metadata.imagej_metadata.empty()) {
        d.add_longs(50838, metadata.imagej_metadata_counts);
        d.add_bytes(50839, metadata.imagej_metadata);
    }
    return d;
}

void write_directories(AtomicOutput& output, bool big, index_t offset, index_t pages,
                       const std::function<TiffDirectory(index_t)>& directory) {
    constexpr std::size_t bytes_at_once = 1 << 20;
    std::string bytes;
    index_t written_to = offset;
    index_t at = offset;
    for (index_t page = 0; page < pages; ++page) {
        const TiffDirectory d = directory(page);
        const index_t next = at + d.size();
        bytes += d.at(at, page + 1 < pages ? next : 0);
        at = next;
        if (bytes.size() > bytes_at_once || page + 1 == pages) {
            output.write(written_to, bytes.data(), static_cast<index_t>(bytes.size()));
            written_to = at;
            bytes.clear();
        }
    }
    const std::string header = header_bytes(big, offset);
    output.write(0, header.data(), static_cast<index_t>(header.size()));
}

std::uint16_t sample_format(PixelType type) {
    if (is_complex(type)) return 6;
    if (!is_integer(type)) return 3;
    return to_string(type)[0] == 'u' ? 1 : 2;
}

std::unique_ptr<ImageWriter> create_tiff(const std::string& path, const ImageMetadata& image,
                                         const CreateOptions& options, bool ome) {
    ImageMetadata metadata = image;
    const Shape3& shape = metadata.shape;
    if (shape.y > UINT32_MAX || shape.x > UINT32_MAX)
        throw InvalidArgument(
            message("a TIFF cannot hold planes of ", shape.y, "×", shape.x, "; write HDF5 (.h5)"));
    TiffText text;
    text.ome = ome || !imagej_holds(metadata.type, options.compression);
    if (!text.ome) complete_imagej_metadata(metadata);
    text.description =
        text.ome ? ome_xml(metadata, options.software) : imagej_description(metadata, {});
    text.software = options.software;
    const index_t pages =
        checked_multiply(checked_multiply(metadata.frames, metadata.channels), shape.z);
    const index_t carried =
        static_cast<index_t>(text.description.size() + metadata.imagej_metadata.size());
    const index_t total = checked_add(
        metadata.bytes(), checked_add(checked_multiply(pages, directory_bytes), carried));
    text.big = total >= classic_limit_bytes;

    // In OME files the tags repeat the XML, in a unit that TIFF knows.
    const double micrometers = text.ome ? 1e4 : imagej_unit(metadata).micrometers;
    for (std::size_t i = 0; i < 2; ++i)
        if (const auto& size = metadata.voxel_size_um[i + 1]; size && *size > 0) {
            text.pixels_per_unit[i] = micrometers / *size;
            if (text.ome) text.resolution_unit = 3;
        }
    return options.compression == Compression::none
               ? create_raw_tiff(path, metadata, options, text)
               : create_coded_tiff(path, metadata, options, text);
}

void set_display_ranges(ImageMetadata& metadata, TiffText& text, const ChannelRanges& ranges) {
    if (text.ome) return;
    const std::vector<ValueRange> all = ranges.all();
    text.description = imagej_description(metadata, all[0]);
    set_imagej_ranges(metadata, all);
}

std::unique_ptr<ImageWriter> create_raw_tiff(const std::string& path, const ImageMetadata& metadata,
                                             const CreateOptions& options, const TiffText& text) {
    return std::make_unique<RawTiffWriter>(path, metadata, options, text);
}

}  // namespace convolume::io
