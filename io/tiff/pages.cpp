// SPDX-License-Identifier: Apache-2.0
#include "io/tiff/pages.hpp"

#include <tiffio.h>

#include <algorithm>
#include <cstring>

#include "convolume/error.hpp"
#include "io/tiff/directory.hpp"
#include "io/tiff/jpeg2000.hpp"

namespace convolume::io {
namespace {

/// Bytes of tables and headers that a short TIFF strip may have beside its samples.
constexpr index_t tiff_slack_bytes = 1 << 16;

/// Reads and checks the page of the current directory.
class PageScanner {
  public:
    PageScanner(TiffHandle& tiff, const RawFile& file, std::size_t number)
        : tiff_(tiff), file_(file), number_(number) {}

    TiffPage read() {
        TiffPage page;
        page.directory = TIFFCurrentDirOffset(tiff_);
        page.reduced =
            (tiff_.get<std::uint32_t>(TIFFTAG_SUBFILETYPE, 0) & FILETYPE_REDUCEDIMAGE) != 0;
        page.width = tiff_.get<std::uint32_t>(TIFFTAG_IMAGEWIDTH, 0);
        page.height = tiff_.get<std::uint32_t>(TIFFTAG_IMAGELENGTH, 0);
        page.samples = tiff_.get<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL, 1);
        page.planar = page.samples > 1 && tiff_.get<std::uint16_t>(TIFFTAG_PLANARCONFIG, 1) == 2;
        try {
            check(page);
        } catch (const BadData& error) {
            page.problem = error.what();
            page.raw_offset = -1;
        }
        return page;
    }

  private:
    [[noreturn]] void refuse(const std::string& what) const {
        throw BadData(message("page ", number_, " of ", file_.path(), " ", what));
    }

    void check(TiffPage& page) const {
        if (page.width < 1 || page.height < 1 || page.samples < 1)
            refuse(message("has no pixels (", page.height, "×", page.width, ")"));
        const int bits = tiff_.get<std::uint16_t>(TIFFTAG_BITSPERSAMPLE, 1);
        const int format = tiff_.get<std::uint16_t>(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
        const auto stored = stored_samples(bits, format);
        if (!stored)
            refuse(message("has ", bits, "-bit pixels of TIFF sample format ", format,
                           ", which are not supported; convert them to 8 or 16 bits or float32"));
        page.stored = *stored;
        if (tiff_.get<std::uint32_t>(TIFFTAG_IMAGEDEPTH, 1) > 1)
            refuse("is a volume of its own, which is not supported; save the stack as pages");
        check_coding(page);
    }

    void check_jpeg2000(const TiffPage& page) const {
        if (!decodes_jpeg2000())
            refuse(
                "is compressed by JPEG 2000, and convolume was built without it; install "
                "libopenjp2-7-dev and build it again, or save the file with LZW");
        constexpr std::uint16_t aperio_ycbcr = 33003;
        if (tiff_.get<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE) == aperio_ycbcr &&
            page.samples > 1)
            refuse(
                "is compressed by Aperio's JPEG 2000 of YCbCr colors, which is not supported; "
                "save it as RGB or gray");
        if (page.stored.form != SampleForm::pixels || !is_integer(page.type()) ||
            size_of(page.type()) > 2)
            refuse(
                "is compressed by JPEG 2000 with samples that are no integers of 8 or 16 bits; "
                "save the file with LZW");
    }

    void check_coding(TiffPage& page) const {
        const auto compression = tiff_.get<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE);
        page.jpeg2000 = is_jpeg2000(compression);
        if (page.jpeg2000)
            check_jpeg2000(page);
        else if (!TIFFIsCODECConfigured(compression))
            refuse(message("uses TIFF compression ", compression,
                           ", which the installed libtiff lacks; save it without or with LZW"));
        const auto photometric =
            tiff_.get<std::uint16_t>(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        page.white_is_zero = photometric == PHOTOMETRIC_MINISWHITE;
        page.red_green_blue = photometric == PHOTOMETRIC_RGB || photometric == PHOTOMETRIC_YCBCR;
        if (photometric == PHOTOMETRIC_YCBCR && page.samples > 1 && compression != COMPRESSION_JPEG)
            refuse("has YCbCr colors without JPEG; save it as RGB or gray");

        const index_t pixel_bytes = static_cast<index_t>(size_of(page.type())) * page.samples;
        if (page.width > INT64_MAX / page.height / pixel_bytes) refuse("is impossibly large");
        const bool tiled = page.tiled = TIFFIsTiled(tiff_) != 0;
        page.rows =
            tiled ? tiff_.get<std::uint32_t>(TIFFTAG_TILELENGTH, 0)
                  : std::min<index_t>(tiff_.get<std::uint32_t>(TIFFTAG_ROWSPERSTRIP, UINT32_MAX),
                                      page.height);
        page.columns = tiled ? tiff_.get<std::uint32_t>(TIFFTAG_TILEWIDTH, 0) : page.width;
        // Striles: TIFF strips or TIFF tiles, as libtiff calls them.
        const index_t striles = tiled ? TIFFNumberOfTiles(tiff_) : TIFFNumberOfStrips(tiff_);
        // Each strile has at least 2 bytes in a table; a single strile may be in the directory
        // instead.
        if (striles > 1) page.table_bytes = 2 * striles;
        if (page.table_bytes > file_.size()) refuse_size(page, file_.size());
        const index_t largest_strile =
            static_cast<index_t>(tiled ? TIFFTileSize64(tiff_) : TIFFStripSize64(tiff_));
        const std::uint64_t size = static_cast<std::uint64_t>(file_.size());
        index_t coded = 0;
        index_t longest = 0;
        for (index_t i = 0; i < striles; ++i) {
            const auto strile = static_cast<std::uint32_t>(i);
            const std::uint64_t offset = TIFFGetStrileOffset(tiff_, strile);
            const std::uint64_t bytes = TIFFGetStrileByteCount(tiff_, strile);
            if (bytes > size || offset > size - bytes)
                refuse(message("has ", bytes, " bytes at offset ", offset, " of a file of ", size,
                               " bytes; it is truncated or damaged, copy it again"));
            coded = std::min<index_t>(coded + static_cast<index_t>(bytes), file_.size());
            longest = std::max(longest, static_cast<index_t>(bytes));
        }

        const index_t limit = expansion_limit(compression);
        const index_t slack = compression == COMPRESSION_NONE ? 0 : tiff_slack_bytes;
        page.least_file_bytes = page.bytes() / limit;
        if (compression == COMPRESSION_NONE && !tiled && page.stored.form == SampleForm::pixels) {
            page.raw_offset = contiguous_strips(page, striles);
            if (page.raw_offset >= 0) {
                if (page.bytes() > file_.size() - page.raw_offset) refuse_size(page, coded);
                return;
            }
        }
        if (page.least_file_bytes > coded + slack) refuse_size(page, coded);
        if (largest_strile < 1 || largest_strile / limit > longest + slack)
            refuse_size(page, longest);
    }

    [[noreturn]] void refuse_size(const TiffPage& page, index_t coded) const {
        refuse(message("claims ", page.samples, "×", page.height, "×", page.width, " ",
                       to_string(page.type()), " pixels, but its ", coded, " bytes in a file of ",
                       file_.size(),
                       " cannot hold them; it is truncated or damaged, copy it again"));
    }

    /// Returns the offset of the first TIFF strip if all others follow without gaps, else -1.
    index_t contiguous_strips(const TiffPage& page, index_t strips) const {
        if (tiff_.get<std::uint16_t>(TIFFTAG_FILLORDER, FILLORDER_MSB2LSB) != FILLORDER_MSB2LSB)
            return -1;
        const index_t rows = std::min<index_t>(
            std::max<std::uint32_t>(tiff_.get<std::uint32_t>(TIFFTAG_ROWSPERSTRIP, UINT32_MAX), 1),
            page.height);
        const index_t planes = page.planar ? page.samples : 1;
        const index_t strips_a_plane = ceil_div(page.height, rows);
        if (strips != planes * strips_a_plane) return -1;
        const index_t row_bytes = page.bytes() / planes / page.height;
        const index_t first = static_cast<index_t>(TIFFGetStrileOffset(tiff_, 0));
        index_t expected = first;
        for (index_t i = 0; i < strips; ++i) {
            if (static_cast<index_t>(TIFFGetStrileOffset(tiff_, static_cast<std::uint32_t>(i))) !=
                expected)
                return -1;
            const index_t begin = i % strips_a_plane * rows;
            expected += std::min(rows, page.height - begin) * row_bytes;
        }
        return first > 0 ? first : -1;
    }

    TiffHandle& tiff_;
    const RawFile& file_;
    std::size_t number_;
};

/// Unpacks one row of `count` numbers of `bits` bits each.
template <class T>
void unpack_row(const unsigned char* from, index_t count, int bits, T* to) {
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    std::uint64_t bit_buffer = 0;
    int bits_left = 0;
    for (index_t i = 0; i < count; ++i) {
        for (; bits_left < bits; bits_left += 8) bit_buffer = bit_buffer << 8 | *from++;
        bits_left -= bits;
        to[i] = static_cast<T>(bit_buffer >> bits_left & mask);
    }
}

template <class T>
void unpack(const StoredSamples& stored, const void* from, index_t rows, index_t samples,
            void* to) {
    const index_t row_bytes = stored.row_bytes(samples);
    for (index_t row = 0; row < rows; ++row)
        unpack_row(static_cast<const unsigned char*>(from) + row * row_bytes, samples, stored.bits,
                   static_cast<T*>(to) + row * samples);
}

}  // namespace

index_t expansion_limit(std::uint16_t compression) {
    switch (compression) {
        case COMPRESSION_NONE:
            return 1;
        case COMPRESSION_PACKBITS:
            return 64;  // PackBits: 2 bytes expand to 128
        case COMPRESSION_DEFLATE:
        case COMPRESSION_ADOBE_DEFLATE:
            return 1032;  // deflate: 2 bits expand to 258 bytes
        case COMPRESSION_LZW:
            return 2731;  // LZW: 12 bits expand to at most 4096 bytes
        default:
            return 32768;  // zstd: 4 bytes expand to 128 KiB
    }
}

std::vector<TiffPage> scan_pages(TiffHandle& tiff, const RawFile& file) {
    std::vector<TiffPage> pages;
    index_t bytes_left = file.size() + tiff_slack_bytes;
    index_t table_bytes_left = file.size();
    while (true) {
        tiff.decode_ycbcr_as_rgb();
        pages.push_back(PageScanner(tiff, file, pages.size()).read());
        // Pages of a damaged file may share bytes. Those of other files do not.
        bytes_left -= pages.back().least_file_bytes;
        table_bytes_left -= pages.back().table_bytes;
        if (bytes_left < 0 || table_bytes_left < 0)
            throw BadData(message("the first ", pages.size(), " pages of ", file.path(),
                                  " claim more than a file of ", file.size(),
                                  " bytes can hold; it is damaged, write it again"));
        if (TIFFLastDirectory(tiff) != 0) {
            TiffNumbers(file).next_directory(pages.back().directory);
            break;
        }
        tiff.clear_error();
        if (TIFFReadDirectory(tiff) == 0) {
            tiff.rethrow();
            throw BadData(message(
                "page ", pages.size(), " of ", file.path(), " cannot be read",
                tiff.error().empty() ? " (its directories may form a loop)" : ": " + tiff.error(),
                "; the file is truncated or damaged, copy it again"));
        }
    }
    // Reports read errors at tags that libtiff could do without.
    tiff.rethrow();
    return pages;
}

index_t StoredSamples::row_bytes(index_t samples) const {
    return ceil_div(checked_multiply(samples, bits), index_t{8});
}

std::optional<StoredSamples> stored_samples(int bits, int sample_format) {
    using Form = SampleForm;
    struct SupportedFormat {
        int sample_format;
        StoredSamples stored;
    };
    constexpr SupportedFormat supported[] = {
        {SAMPLEFORMAT_UINT, {PixelType::uint8, Form::pixels, 8}},
        {SAMPLEFORMAT_UINT, {PixelType::uint16, Form::pixels, 16}},
        {SAMPLEFORMAT_UINT, {PixelType::uint32, Form::pixels, 32}},
        {SAMPLEFORMAT_UINT, {PixelType::float64, Form::uint64, 64}},
        {SAMPLEFORMAT_INT, {PixelType::int8, Form::pixels, 8}},
        {SAMPLEFORMAT_INT, {PixelType::int16, Form::pixels, 16}},
        {SAMPLEFORMAT_INT, {PixelType::int32, Form::pixels, 32}},
        {SAMPLEFORMAT_INT, {PixelType::float64, Form::int64, 64}},
        {SAMPLEFORMAT_IEEEFP, {PixelType::float32, Form::half, 16}},
        {SAMPLEFORMAT_IEEEFP, {PixelType::float32, Form::pixels, 32}},
        {SAMPLEFORMAT_IEEEFP, {PixelType::float64, Form::pixels, 64}},
        {SAMPLEFORMAT_COMPLEXIEEEFP, {PixelType::complex64, Form::pixels, 64}},
        {SAMPLEFORMAT_COMPLEXIEEEFP, {PixelType::complex128, Form::pixels, 128}},
    };
    if (sample_format == SAMPLEFORMAT_VOID) sample_format = SAMPLEFORMAT_UINT;
    for (const SupportedFormat& format : supported)
        if (format.sample_format == sample_format && format.stored.bits == bits)
            return format.stored;
    if (sample_format != SAMPLEFORMAT_UINT || bits < 1 || bits >= 16) return std::nullopt;
    return StoredSamples{bits < 8 ? PixelType::uint8 : PixelType::uint16, Form::packed, bits};
}

std::optional<InexactInteger> convert_stored(const StoredSamples& stored, const void* from,
                                             index_t rows, index_t samples, void* to) {
    const index_t count = rows * samples;
    switch (stored.form) {
        case SampleForm::pixels:
            throw InternalError("samples that need no conversion were to be converted");
        case SampleForm::packed:
            if (stored.type == PixelType::uint8)
                unpack<std::uint8_t>(stored, from, rows, samples, to);
            else
                unpack<std::uint16_t>(stored, from, rows, samples, to);
            return std::nullopt;
        case SampleForm::half:
            widen_short_floats(from, count, SampleStorage::float16, static_cast<float*>(to));
            return std::nullopt;
        case SampleForm::int64:
        case SampleForm::uint64:
            std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(double));
            return widen_integers(
                to, count,
                stored.form == SampleForm::int64 ? WideInteger::int64 : WideInteger::uint64);
    }
    throw InternalError("a form of samples outside its enumeration");
}

}  // namespace convolume::io
