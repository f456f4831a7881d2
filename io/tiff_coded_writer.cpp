// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "io/atomic_output.hpp"
#include "io/plane_stream.hpp"
#include "io/tiff_handle.hpp"
#include "io/tiff_writer.hpp"

namespace convolume::io {
namespace {

constexpr index_t strip_bytes = 256 << 10;

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

/// Differences of neighbors compress better; complex pixels have no predictor.
std::uint16_t predictor_of(std::uint16_t scheme, PixelType type) {
    if (scheme == COMPRESSION_PACKBITS || is_complex(type)) return 1;
    return is_integer(type) ? 2 : 3;
}

class CodedTiffWriter : public ImageWriter {
  public:
    CodedTiffWriter(const std::string& path, const ImageMetadata& metadata,
                    const CreateOptions& options, const TiffText& text)
        : metadata_(metadata),
          text_(text),
          scheme_(scheme_of(options.compression)),
          output_(path, options.overwrite, 0),
          tiff_(output_.temporary(), text.big ? "w8" : "w", 0) {
        const index_t row_bytes = metadata.shape.x * static_cast<index_t>(size_of(metadata.type));
        rows_ = std::clamp<index_t>(strip_bytes / row_bytes, 1, metadata.shape.y);
    }

    void write_planes(index_t t, index_t c, index_t z_begin,
                      const ConstImageView& source) override {
        progress_.accept(metadata_, t, c, z_begin, source);
        for_each_plane(source, [&](index_t, const void* plane, index_t) {
            write_page(static_cast<const char*>(plane));
        });
    }

    void commit() override {
        progress_.finish(metadata_);
        tiff_.close();
        check(tiff_.error().empty());
        output_.commit();
    }

  protected:
    const ImageMetadata& metadata() const override { return metadata_; }

  private:
    void check(bool done) const {
        if (!done)
            throw IoError(
                output_.failure(tiff_.error().empty() ? "libtiff gave no reason" : tiff_.error()));
    }

    template <class... Values>
    void set(std::uint32_t tag, Values... values) {
        check(TIFFSetField(tiff_, tag, values...) == 1);
    }

    void set_tags() {
        set(TIFFTAG_SUBFILETYPE, 0u);
        set(TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(metadata_.shape.x));
        set(TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(metadata_.shape.y));
        set(TIFFTAG_BITSPERSAMPLE, static_cast<int>(size_of(metadata_.type) * 8));
        set(TIFFTAG_SAMPLEFORMAT, static_cast<int>(sample_format(metadata_.type)));
        set(TIFFTAG_SAMPLESPERPIXEL, 1);
        set(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        set(TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
        set(TIFFTAG_COMPRESSION, static_cast<int>(scheme_));
        if (const int predictor = predictor_of(scheme_, metadata_.type); predictor > 1)
            set(TIFFTAG_PREDICTOR, predictor);
        set(TIFFTAG_ROWSPERSTRIP, static_cast<std::uint32_t>(rows_));
        set(TIFFTAG_XRESOLUTION, text_.pixels_per_unit[1]);
        set(TIFFTAG_YRESOLUTION, text_.pixels_per_unit[0]);
        set(TIFFTAG_RESOLUTIONUNIT, static_cast<int>(text_.resolution_unit));
        if (!first_page_) return;
        set(TIFFTAG_IMAGEDESCRIPTION, text_.description.c_str());
        if (!text_.software.empty()) set(TIFFTAG_SOFTWARE, text_.software.c_str());
        first_page_ = false;
    }

    void write_page(const char* plane) {
        set_tags();
        const index_t row_bytes = metadata_.shape.x * static_cast<index_t>(size_of(metadata_.type));
        std::uint32_t strip = 0;
        for (index_t y = 0; y < metadata_.shape.y; y += rows_, ++strip) {
            const index_t bytes = std::min(rows_, metadata_.shape.y - y) * row_bytes;
            // The predictor works in place.
            strip_.assign(plane + y * row_bytes, plane + y * row_bytes + bytes);
            check(TIFFWriteEncodedStrip(tiff_, strip, strip_.data(), bytes) == bytes);
        }
        check(TIFFWriteDirectory(tiff_) == 1);
    }

    ImageMetadata metadata_;
    TiffText text_;
    std::uint16_t scheme_;
    AtomicOutput output_;
    TiffHandle tiff_;
    WriteProgress progress_;
    index_t rows_ = 1;
    bool first_page_ = true;
    std::vector<char> strip_;
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
