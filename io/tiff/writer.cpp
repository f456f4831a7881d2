// SPDX-License-Identifier: Apache-2.0
// Writes TIFF images, uncompressed or compressed, as ImageJ's TIFF or as OME-TIFF.

#include <algorithm>
#include <bit>
#include <mutex>

#include "convolume/error.hpp"
#include "io/atomic_output.hpp"
#include "io/file_array.hpp"
#include "io/image_file.hpp"
#include "io/ome/document.hpp"
#include "io/pieces.hpp"
#include "io/samples.hpp"
#include "io/tiff/directory.hpp"
#include "io/tiff/format.hpp"
#include "io/tiff/handle.hpp"
#include "io/tiff/imagej.hpp"

namespace convolume::io {
namespace {

/// Offset of the first sample, after the header of classic TIFF or BigTIFF.
constexpr index_t data_offset = 16;
/// Estimated bytes from which a file is BigTIFF. Classic TIFF ends at 4 GiB. The estimate is made
/// before compression, so there is some margin.
constexpr index_t classic_limit_bytes = (index_t{1} << 32) - (index_t{32} << 20);
constexpr index_t directory_bytes = 256;  // estimated bytes of a directory

constexpr index_t strip_bytes = 256 << 10;  // bytes of a TIFF strip before compression
/// Largest offset in classic TIFF. Directories with larger ones must be BigTIFF.
constexpr index_t largest_classic_offset = UINT32_MAX;

/// Tells whether ImageJ's own reader supports such pixels.
bool imagej_supports(PixelType type, Compression compression) {
    return (type == PixelType::uint8 || type == PixelType::uint16 || type == PixelType::float32) &&
           compression != Compression::zstd;
}

/// Values of the tags of a file to be written.
struct TiffTagValues {
    bool ome = false;         ///< true for OME-XML, false for ImageJ's description
    bool big = false;         ///< true for BigTIFF
    std::string description;  ///< ImageDescription of the first page
    std::string software;
    std::array<double, 2> pixels_per_unit{1, 1};  ///< resolution along y, x
    std::uint16_t resolution_unit = 1;            ///< TIFF's code: 1 for none, 3 for cm
};

/// Location and coding of the samples of a page.
struct TiffStrips {
    std::uint16_t compression = 1;  ///< TIFF's code, 1 for none
    std::uint16_t predictor = 1;    ///< TIFF's code, 1 for none
    index_t rows = 1;               ///< rows of a TIFF strip
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint64_t> bytes;
};

/// Returns the value of the tag SampleFormat for a pixel type.
std::uint16_t sample_format(PixelType type) {
    if (is_complex(type)) return 6;
    if (!is_integer(type)) return 3;
    return to_string(type)[0] == 'u' ? 1 : 2;
}

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

/// Base class of both writers. Directories are written at the end.
class TiffWriter : public FileWriter {
  protected:
    TiffWriter(const ImageMetadata& metadata, const TiffTagValues& text)
        : FileWriter(metadata),
          text_(text),
          page_count_(metadata.frames * metadata.channels * metadata.shape.z),
          ranges_(metadata.channels) {}

    virtual TiffStrips strips_of(index_t page) const = 0;

    /// Returns the page of plane (t, c, z). Channels are fastest for ImageJ, z then c in our
    /// OME-XML.
    index_t page_number(index_t t, index_t c, index_t z) const {
        const index_t slices = metadata_.shape.z;
        const index_t channels = metadata_.channels;
        return text_.ome ? (t * channels + c) * slices + z : (t * slices + z) * channels + c;
    }

    /// Extends the display range of the channel in ImageJ by `samples`.
    void add_to_range(index_t channel, const ConstImageView& samples) {
        if (!text_.ome) ranges_.add(channel, samples);
    }

    /// Sets the display ranges for ImageJ. The sizes of directories stay the same.
    void set_display_ranges() {
        if (text_.ome) return;
        const std::vector<DisplayRange> ranges = ranges_.all();
        text_.description = imagej_description(metadata_, ranges[0]);
        set_imagej_ranges(metadata_, ranges);
    }

    index_t directories_bytes() const {
        const index_t first = directory_of(0).size();
        if (page_count_ == 1) return first;
        return checked_add(first, checked_multiply(page_count_ - 1, directory_of(1).size()));
    }

    /// Writes the directories of all pages from the even `offset` on, then the header.
    void write_directories(AtomicOutput& output, index_t offset) const {
        constexpr std::size_t bytes_at_once = 1 << 20;
        std::string bytes;
        index_t written_to = offset;
        index_t at = offset;
        for (index_t page = 0; page < page_count_; ++page) {
            const TiffDirectory d = directory_of(page);
            const index_t next = at + d.size();
            bytes += d.at(at, page + 1 < page_count_ ? next : 0);
            at = next;
            if (bytes.size() > bytes_at_once || page + 1 == page_count_) {
                output.write(written_to, bytes.data(), static_cast<index_t>(bytes.size()));
                written_to = at;
                bytes.clear();
            }
        }
        const std::string header = header_bytes(text_.big, offset);
        output.write(0, header.data(), static_cast<index_t>(header.size()));
    }

    TiffTagValues text_;
    index_t page_count_;

  private:
    TiffDirectory directory_of(index_t page) const {
        const bool first = page == 0;
        const TiffStrips strips = strips_of(page);
        TiffDirectory d(text_.big);
        d.add_long(254, 0);
        d.add_long(256, static_cast<std::uint32_t>(metadata_.shape.x));
        d.add_long(257, static_cast<std::uint32_t>(metadata_.shape.y));
        d.add_short(258, static_cast<std::uint16_t>(size_of(metadata_.type) * 8));
        d.add_short(259, strips.compression);
        d.add_short(262, 1);  // zero is black
        if (first) d.add_text(270, text_.description);
        d.add_offsets(273, strips.offsets);
        d.add_short(277, 1);
        d.add_long(278, static_cast<std::uint32_t>(strips.rows));
        d.add_offsets(279, strips.bytes);
        d.add_rational(282, text_.pixels_per_unit[1]);
        d.add_rational(283, text_.pixels_per_unit[0]);
        d.add_short(296, text_.resolution_unit);
        if (first && !text_.software.empty()) d.add_text(305, text_.software);
        if (strips.predictor > 1) d.add_short(317, strips.predictor);
        d.add_short(339, sample_format(metadata_.type));
        if (first && !text_.ome && !metadata_.imagej_metadata.empty()) {
            d.add_longs(50838, metadata_.imagej_metadata_counts);
            d.add_bytes(50839, metadata_.imagej_metadata);
        }
        return d;
    }

    ChannelRanges ranges_;
};

/// Writer of uncompressed files: all pixels are contiguous after the header.
class UncompressedTiffWriter final : public TiffWriter {
  public:
    UncompressedTiffWriter(const std::string& path, const ImageMetadata& metadata,
                           const CreateOptions& options, const TiffTagValues& text)
        : TiffWriter(metadata, text),
          plane_bytes_(metadata.bytes() / page_count_),
          // The offsets of directories must be even.
          directories_offset_(round_up(checked_add(data_offset, metadata.bytes()), 16)),
          output_(path, options.overwrite, directories_offset_ + directories_bytes()) {
        output_.reserve(0, directories_offset_ + directories_bytes());
    }

    StackFormat format() const override { return stack_format(metadata_); }

  private:
    void write_checked_box(index_t t, index_t c, const Box3& box,
                           const ConstImageView& source) override {
        const index_t first = page_number(t, c, 0);
        FileArray volume{data_offset + first * plane_bytes_, contiguous_strides(metadata_.shape)};
        volume.strides.z *= page_number(t, c, 1) - first;
        write_array(output_, volume.from(box.begin, bytes_each()), source);
        add_to_range(c, source);
    }

    void complete() override {
        set_display_ranges();
        write_directories(output_, directories_offset_);
        output_.commit();
    }

    TiffStrips strips_of(index_t page) const override {
        TiffStrips strips;
        strips.rows = metadata_.shape.y;
        strips.offsets = {static_cast<std::uint64_t>(data_offset + page * plane_bytes_)};
        strips.bytes = {static_cast<std::uint64_t>(plane_bytes_)};
        return strips;
    }

    index_t plane_bytes_;
    index_t directories_offset_;
    AtomicOutput output_;
};

std::uint16_t scheme_of(Compression compression) {
    switch (compression) {
        case Compression::deflate:
            return COMPRESSION_ADOBE_DEFLATE;
        case Compression::lzw:
            return COMPRESSION_LZW;
        case Compression::zstd:
            return COMPRESSION_ZSTD;
        case Compression::packbits:
            return COMPRESSION_PACKBITS;
        case Compression::none:
            break;
    }
    return COMPRESSION_NONE;
}

/// Returns TIFF's code of the predictor. Differences of neighbors compress better. But ImageJ
/// supports them only for LZW of 8 and 16 bits, and Bio-Formats never for floating-point numbers.
std::uint16_t predictor_of(std::uint16_t scheme, PixelType type) {
    constexpr std::uint16_t none = 1;
    constexpr std::uint16_t horizontal = 2;
    if (scheme == COMPRESSION_PACKBITS || !is_integer(type)) return none;
    const bool is_for_imagej = type == PixelType::uint8 || type == PixelType::uint16;
    return scheme == COMPRESSION_LZW || scheme == COMPRESSION_ZSTD || !is_for_imagej ? horizontal
                                                                                     : none;
}

/// Adds the size of the content to a frame of Zstandard (RFC 8878), where libtiff leaves it out.
/// Bio-Formats opens only frames that have it.
void add_content_size(std::string& frame, index_t bytes) {
    constexpr std::size_t descriptor = 4;  // follows the magic number
    constexpr std::size_t content_size = 6;
    constexpr int other_fields = 0xE3;  // bits of a size, of one segment, and of a dictionary
    constexpr int has_8_bytes = 0xC0;
    if (frame.size() <= content_size || (frame[descriptor] & other_fields) != 0) return;
    frame[descriptor] = static_cast<char>(frame[descriptor] | has_8_bytes);
    std::string size;
    for (int i = 0; i < 8; ++i) size += static_cast<char>(bytes >> (8 * i) & 0xFF);
    frame.insert(content_size, size);
}

/// Writer of compressed files, whose TIFF strips are in the order of their completion.
class CompressedTiffWriter final : public TiffWriter {
  public:
    CompressedTiffWriter(const std::string& path, const ImageMetadata& metadata,
                         const CreateOptions& options, const TiffTagValues& text)
        : TiffWriter(metadata, text),
          scheme_(scheme_of(options.compression)),
          predictor_(predictor_of(scheme_, metadata.type)),
          rows_(std::clamp<index_t>(strip_bytes / metadata.shape.x / bytes_each(), 1,
                                    metadata.shape.y)),
          strips_a_page_(ceil_div(metadata.shape.y, rows_)),
          output_(path, options.overwrite, 0),
          assembler_(format(), output_.folder()),
          strips_(static_cast<std::size_t>(assembler_.pieces())) {}

    StackFormat format() const override {
        return stack_format(metadata_, {1, rows_, metadata_.shape.x});
    }

  private:
    /// Location of an encoded TIFF strip in the file.
    struct StripLocation {
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
    };

    void write_checked_box(index_t t, index_t c, const Box3& box,
                           const ConstImageView& source) override {
        assembler_.add(t * metadata_.channels + c, box, source,
                       [&](const Piece& strip, const ConstImageView& samples) {
                           append(strip.number, encode(samples));
                       });
        add_to_range(c, source);
    }

    void complete() override {
        set_display_ranges();
        const index_t offset = round_up(end_, 16);
        text_.big = false;
        text_.big = checked_add(offset, directories_bytes()) > largest_classic_offset;
        write_directories(output_, offset);
        output_.commit();
    }

    TiffStrips strips_of(index_t page) const override {
        TiffStrips strips{scheme_, predictor_, rows_, {}, {}};
        for (index_t i = 0; i < strips_a_page_; ++i) {
            const StripLocation& location =
                strips_[static_cast<std::size_t>(plane_of(page) * strips_a_page_ + i)];
            strips.offsets.push_back(location.offset);
            strips.bytes.push_back(location.bytes);
        }
        return strips;
    }

    /// Returns the index of the plane of a page, with z fastest, then c, then t.
    index_t plane_of(index_t page) const {
        const index_t channels = metadata_.channels;
        const index_t slices = metadata_.shape.z;
        if (text_.ome) return page;
        const index_t t = page / (slices * channels);
        const index_t z = page / channels % slices;
        return (t * channels + page % channels) * slices + z;
    }

    /// Returns an encoded TIFF strip. libtiff writes it as the only one of a TIFF in memory.
    std::string encode(const ConstImageView& samples) const {
        TiffHandle tiff;
        const auto set = [&](std::uint32_t tag, auto value) {
            check(TIFFSetField(tiff, tag, value) == 1, tiff);
        };
        set(TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(samples.shape.x));
        set(TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(samples.shape.y));
        set(TIFFTAG_ROWSPERSTRIP, static_cast<std::uint32_t>(samples.shape.y));
        set(TIFFTAG_BITSPERSAMPLE, static_cast<int>(size_of(metadata_.type) * 8));
        set(TIFFTAG_SAMPLEFORMAT, static_cast<int>(sample_format(metadata_.type)));
        set(TIFFTAG_SAMPLESPERPIXEL, 1);
        set(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        set(TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
        set(TIFFTAG_COMPRESSION, static_cast<int>(scheme_));
        if (predictor_ > 1) set(TIFFTAG_PREDICTOR, static_cast<int>(predictor_));
        // The samples are copied, since the predictor works in place.
        const index_t bytes = element_count(samples.shape) * bytes_each();
        std::vector<char> strip(static_cast<std::size_t>(bytes));
        copy_view(samples,
                  {strip.data(), samples.type, samples.shape, contiguous_strides(samples.shape)});
        check(TIFFWriteEncodedStrip(tiff, 0, strip.data(), bytes) == bytes, tiff);
        const std::uint64_t offset = TIFFGetStrileOffset(tiff, 0);
        const std::uint64_t count = TIFFGetStrileByteCount(tiff, 0);
        check(offset > 0 && count > 0 && offset <= tiff.memory().size() &&
                  count <= tiff.memory().size() - offset,
              tiff);
        std::string encoded = tiff.memory().substr(offset, count);
        if (scheme_ == COMPRESSION_ZSTD) add_content_size(encoded, bytes);
        return encoded;
    }

    void check(bool done, const TiffHandle& tiff) const {
        if (done) return;
        tiff.rethrow();
        throw IoError(
            output_.failure(tiff.error().empty() ? "libtiff gave no reason" : tiff.error()));
    }

    /// Writes an encoded TIFF strip at the end of the file.
    void append(index_t number, const std::string& strip) {
        const auto bytes = static_cast<index_t>(strip.size());
        index_t offset = 0;
        {
            const std::lock_guard lock(mutex_);
            offset = end_;
            end_ = checked_add(end_, round_up(bytes, 2));  // TIFF strips begin at even offsets
            strips_[static_cast<std::size_t>(number)] = {static_cast<std::uint64_t>(offset),
                                                         strip.size()};
        }
        output_.write(offset, strip.data(), bytes);
    }

    std::uint16_t scheme_;
    std::uint16_t predictor_;
    index_t rows_;
    index_t strips_a_page_;
    AtomicOutput output_;
    PieceAssembler assembler_;
    std::vector<StripLocation>
        strips_;  // strips in the order of the assembler's pieces: z fastest, then c, then t
    std::mutex mutex_;
    index_t end_ = data_offset;
};

std::unique_ptr<ImageWriter> create(const std::string& path, const ImageMetadata& image,
                                    const CreateOptions& options, bool ome) {
    ImageMetadata metadata = image;
    const Shape3& shape = metadata.shape;
    if (shape.y > UINT32_MAX || shape.x > UINT32_MAX)
        throw InvalidArgument(
            message("a TIFF cannot hold planes of ", shape.y, "×", shape.x, "; write HDF5 (.h5)"));
    if (metadata.scaling && !is_integer(metadata.type))
        throw InvalidArgument(
            "TIFF files tell of integers alone what values stand for; write HDF5, or values that "
            "are not scaled");
    TiffTagValues text;
    text.ome = ome || !imagej_supports(metadata.type, options.compression);
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

    // In OME files the resolution tags repeat the XML, in a unit that TIFF has.
    const double micrometers = text.ome ? 1e4 : imagej_unit(metadata).micrometers;
    for (std::size_t i = 0; i < 2; ++i)
        if (const auto& size = metadata.voxel_size_um[i + 1]; size && *size > 0) {
            text.pixels_per_unit[i] = micrometers / *size;
            if (text.ome) text.resolution_unit = 3;
        }
    if (options.compression == Compression::none)
        return std::make_unique<UncompressedTiffWriter>(path, metadata, options, text);
    if (!TIFFIsCODECConfigured(scheme_of(options.compression)))
        throw Unavailable(
            "the installed libtiff lacks the compression asked for; use deflate or lzw");
    return std::make_unique<CompressedTiffWriter>(path, metadata, options, text);
}

}  // namespace

std::unique_ptr<ImageWriter> create_tiff(const PathSpec& spec, const ImageMetadata& metadata,
                                         const CreateOptions& options) {
    return create(spec.file, metadata, options, false);
}

std::unique_ptr<ImageWriter> create_ome_tiff(const PathSpec& spec, const ImageMetadata& metadata,
                                             const CreateOptions& options) {
    return create(spec.file, metadata, options, true);
}

}  // namespace convolume::io
