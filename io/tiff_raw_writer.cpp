// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "io/atomic_output.hpp"
#include "io/plane_stream.hpp"
#include "io/tiff_directory.hpp"
#include "io/tiff_writer.hpp"

namespace convolume::io {
namespace {

constexpr index_t data_offset = 16;  // behind the header of either kind

class RawTiffWriter : public ImageWriter {
  public:
    RawTiffWriter(const std::string& path, const ImageMetadata& metadata,
                  const CreateOptions& options, const TiffText& text)
        : metadata_(metadata),
          text_(text),
          pages_(metadata.frames * metadata.channels * metadata.shape.z),
          plane_bytes_(metadata.bytes() / pages_),
          // Directories hold offsets that 32 bits can take, on even addresses.
          directories_offset_(round_up(checked_add(data_offset, metadata.bytes()), 16)),
          output_(path, options.overwrite, directories_offset_ + directories_bytes()) {}

    void write_planes(index_t t, index_t c, index_t z_begin,
                      const ConstImageView& source) override {
        progress_.accept(metadata_, t, c, z_begin, source);
        for_each_plane(source, [&](index_t z, const void* plane, index_t) {
            output_.write(data_offset + page_number(t, c, z_begin + z) * plane_bytes_, plane,
                          plane_bytes_);
        });
    }

    void commit() override {
        progress_.finish(metadata_);
        std::string directories;
        index_t written_to = directories_offset_;
        index_t at = directories_offset_;
        for (index_t page = 0; page < pages_; ++page) {
            const TiffDirectory directory = directory_of(page);
            const index_t next = at + directory.size();
            directories += directory.at(at, page + 1 < pages_ ? next : 0);
            at = next;
            if (directories.size() > (1u << 20) || page + 1 == pages_) {
                output_.write(written_to, directories.data(),
                              static_cast<index_t>(directories.size()));
                written_to = at;
                directories.clear();
            }
        }
        const std::string header = header_bytes();
        output_.write(0, header.data(), static_cast<index_t>(header.size()));
        output_.commit();
    }

  protected:
    const ImageMetadata& metadata() const override { return metadata_; }

  private:
    /// ImageJ wants channels fastest; our OME-XML says z.
    index_t page_number(index_t t, index_t c, index_t z) const {
        const index_t slices = metadata_.shape.z;
        const index_t channels = metadata_.channels;
        return text_.ome ? (t * channels + c) * slices + z : (t * slices + z) * channels + c;
    }

    index_t directories_bytes() const {
        return directory_of(0).size() + (pages_ > 1 ? (pages_ - 1) * directory_of(1).size() : 0);
    }

    TiffDirectory directory_of(index_t page) const {
        TiffDirectory d(text_.big);
        d.add_long(254, 0);
        d.add_long(256, static_cast<std::uint32_t>(metadata_.shape.x));
        d.add_long(257, static_cast<std::uint32_t>(metadata_.shape.y));
        d.add_short(258, static_cast<std::uint16_t>(size_of(metadata_.type) * 8));
        d.add_short(259, 1);  // no compression
        d.add_short(262, 1);  // zero is black
        if (page == 0) d.add_text(270, text_.description);
        d.add_offset(273, static_cast<std::uint64_t>(data_offset + page * plane_bytes_));
        d.add_short(277, 1);
        d.add_long(278, static_cast<std::uint32_t>(metadata_.shape.y));
        d.add_offset(279, static_cast<std::uint64_t>(plane_bytes_));
        d.add_rational(282, text_.pixels_per_unit[1]);
        d.add_rational(283, text_.pixels_per_unit[0]);
        d.add_short(296, text_.resolution_unit);
        if (page == 0 && !text_.software.empty()) d.add_text(305, text_.software);
        d.add_short(339, sample_format(metadata_.type));
        if (page == 0 && !text_.ome && !metadata_.imagej_metadata.empty()) {
            d.add_longs(50838, metadata_.imagej_metadata_counts);
            d.add_bytes(50839, metadata_.imagej_metadata);
        }
        return d;
    }

    std::string header_bytes() const {
        std::string header = std::endian::native == std::endian::little ? "II" : "MM";
        const auto append = [&](auto value) {
            header.append(reinterpret_cast<const char*>(&value), sizeof(value));
        };
        append(static_cast<std::uint16_t>(text_.big ? 43 : 42));
        if (text_.big) {
            append(std::uint16_t{8});
            append(std::uint16_t{0});
            append(static_cast<std::uint64_t>(directories_offset_));
        } else {
            append(static_cast<std::uint32_t>(directories_offset_));
        }
        return header;
    }

    ImageMetadata metadata_;
    TiffText text_;
    index_t pages_;
    index_t plane_bytes_;
    index_t directories_offset_;
    AtomicOutput output_;
    WriteProgress progress_;
};

}  // namespace

std::unique_ptr<ImageWriter> create_raw_tiff(const std::string& path, const ImageMetadata& metadata,
                                             const CreateOptions& options, const TiffText& text) {
    return std::make_unique<RawTiffWriter>(path, metadata, options, text);
}

}  // namespace convolume::io
