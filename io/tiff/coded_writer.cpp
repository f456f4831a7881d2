// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>

#include "io/pieces.hpp"
#include "io/samples.hpp"
#include "io/tiff/handle.hpp"
#include "io/tiff/writer.hpp"

namespace convolume::io {
namespace {

constexpr index_t strip_bytes = 256 << 10;
/// Directories that hold offsets beyond this are BigTIFF's.
constexpr index_t largest_classic_offset = UINT32_MAX;

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

/// Differences of neighbors compress better, but ImageJ reads them in LZW of 8 and 16 bits only,
/// and Bio-Formats reads none of floating-point numbers.
std::uint16_t predictor_of(std::uint16_t scheme, PixelType type) {
    constexpr std::uint16_t none = 1;
    constexpr std::uint16_t horizontal = 2;
    if (scheme == COMPRESSION_PACKBITS || !is_integer(type)) return none;
    const bool is_for_imagej = type == PixelType::uint8 || type == PixelType::uint16;
    return scheme == COMPRESSION_LZW || scheme == COMPRESSION_ZSTD || !is_for_imagej ? horizontal
                                                                                     : none;
}

class CodedTiffWriter : public ImageWriter {
  public:
    CodedTiffWriter(const std::string& path, const ImageMetadata& metadata,
                    const CreateOptions& options, const TiffText& text)
        : metadata_(metadata),
          text_(text),
          scheme_(scheme_of(options.compression)),
          predictor_(predictor_of(scheme_, metadata.type)),
          rows_(std::clamp<index_t>(strip_bytes / metadata.shape.x / bytes_each(), 1,
                                    metadata.shape.y)),
          strips_a_page_(ceil_div(metadata.shape.y, rows_)),
          output_(path, options.overwrite, 0),
          assembler_(stack_format(metadata, {1, rows_, metadata.shape.x}), output_.folder()),
          strips_(static_cast<std::size_t>(assembler_.pieces())),
          ranges_(metadata.channels) {}

    StackFormat format() const override {
        return stack_format(metadata_, {1, rows_, metadata_.shape.x});
    }

    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) override {
        check_box(format(), t, c, box, source);
        assembler_.add(t * metadata_.channels + c, box, source,
                       [&](const Piece& strip, const ConstImageView& samples) {
                           append(strip.number, encode(samples));
                       });
        written_.add(source);
        if (!text_.ome) ranges_.add(c, source);
    }

    void commit() override {
        written_.finish(metadata_);
        set_display_ranges(metadata_, text_, ranges_);
        const index_t pages = assembler_.pieces() / strips_a_page_;
        const index_t offset = round_up(end_, 16);
        text_.big = false;
        index_t bytes = directory_of(0).size();
        if (pages > 1)
            bytes = checked_add(bytes, checked_multiply(pages - 1, directory_of(1).size()));
        text_.big = checked_add(offset, bytes) > largest_classic_offset;
        write_directories(output_, text_.big, offset, pages,
                          [&](index_t page) { return directory_of(page); });
        output_.commit();
    }

  protected:
    const ImageMetadata& metadata() const override { return metadata_; }

  private:
    /// Where an encoded strip is in the file.
    struct Place {
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
    };

    index_t bytes_each() const { return static_cast<index_t>(size_of(metadata_.type)); }

    /// The plane of a page, counted with z fastest, then c, then t.
    index_t plane_of(index_t page) const {
        const index_t channels = metadata_.channels;
        const index_t slices = metadata_.shape.z;
        if (text_.ome) return page;
        const index_t t = page / (slices * channels);
        const index_t z = page / channels % slices;
        return (t * channels + page % channels) * slices + z;
    }

    TiffDirectory directory_of(index_t page) const {
        TiffStrips strips{scheme_, predictor_, rows_, {}, {}};
        for (index_t i = 0; i < strips_a_page_; ++i) {
            const Place& place =
                strips_[static_cast<std::size_t>(plane_of(page) * strips_a_page_ + i)];
            strips.offsets.push_back(place.offset);
            strips.bytes.push_back(place.bytes);
        }
        return page_directory(metadata_, text_, page == 0, strips);
    }

    /// The strip as libtiff encodes it: the only one of a file in memory.
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
        // A copy, since the predictor works in place.
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
        return tiff.memory().substr(offset, count);
    }

    void check(bool done, const TiffHandle& tiff) const {
        if (done) return;
        tiff.rethrow();
        throw IoError(
            output_.failure(tiff.error().empty() ? "libtiff gave no reason" : tiff.error()));
    }

    void append(index_t number, const std::string& strip) {
        const auto bytes = static_cast<index_t>(strip.size());
        index_t offset = 0;
        {
            const std::lock_guard lock(mutex_);
            offset = end_;
            end_ = checked_add(end_, round_up(bytes, 2));  // strips begin on even addresses
            strips_[static_cast<std::size_t>(number)] = {static_cast<std::uint64_t>(offset),
                                                         strip.size()};
        }
        output_.write(offset, strip.data(), bytes);
    }

    ImageMetadata metadata_;
    TiffText text_;
    std::uint16_t scheme_;
    std::uint16_t predictor_;
    index_t rows_;
    index_t strips_a_page_;
    AtomicOutput output_;
    PieceAssembler assembler_;
    std::vector<Place>
        strips_;  // in the order of the assembler's pieces: z fastest, then c, then t
    WriteCount written_;
    ChannelRanges ranges_;
    std::mutex mutex_;
    index_t end_ = tiff_data_offset;
};

}  // namespace

std::unique_ptr<ImageWriter> create_coded_tiff(const std::string& path,
                                               const ImageMetadata& metadata,
                                               const CreateOptions& options, const TiffText& text) {
    if (!TIFFIsCODECConfigured(scheme_of(options.compression)))
        throw Unavailable(
            "the installed libtiff lacks the compression asked for; use deflate or lzw");
    return std::make_unique<CodedTiffWriter>(path, metadata, options, text);
}

}  // namespace convolume::io
