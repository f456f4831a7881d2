// SPDX-License-Identifier: Apache-2.0
// Reads TIFFs in all variants that libtiff writes.

#include <tiffio.h>

#include "tests/io/io_support.hpp"

namespace convolume::testing {
namespace {

struct Variant {
    const char* mode;  ///< mode of TIFFOpen: byte order, 8 for BigTIFF
    int compression;
    int predictor;
    bool tiled;
    bool planar;
    int samples;
    PixelType type;
};

/// Returns a number whose first bytes are the pixel (page, y, x, sample), different for each.
std::uint64_t pixel_bits(int page, int y, int x, int sample) {
    const std::uint64_t number =
        static_cast<std::uint64_t>(((page * 101 + y) * 103 + x) * 5 + sample + 1);
    return number * 0x9E3779B97F4A7C15u;
}

constexpr int pages = 3, height = 37, width = 29;

std::string to_text(const Variant& v) {
    return message(v.mode, " compression ", v.compression, " predictor ", v.predictor,
                   v.tiled ? " tiles" : " strips", v.planar ? " planar " : " contiguous ",
                   v.samples, " ", to_string(v.type));
}

void write_page(TIFF* tiff, const Variant& v, int page) {
    const int bytes = static_cast<int>(size_of(v.type));
    const int format = is_complex(v.type)            ? 6
                       : !is_integer(v.type)         ? 3
                       : to_string(v.type)[0] == 'u' ? 1
                                                     : 2;
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, width);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, height);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, bytes * 8);
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, format);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, v.samples);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, v.planar ? 2 : 1);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, v.compression);
    if (v.predictor > 1) TIFFSetField(tiff, TIFFTAG_PREDICTOR, v.predictor);
    const int rows = v.tiled ? 16 : 10;
    const int columns = v.tiled ? 16 : width;
    if (v.tiled) {
        TIFFSetField(tiff, TIFFTAG_TILEWIDTH, columns);
        TIFFSetField(tiff, TIFFTAG_TILELENGTH, rows);
    } else {
        TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, rows);
    }
    const int side_by_side = v.planar ? 1 : v.samples;
    std::uint32_t strile = 0;
    for (int plane = 0; plane < (v.planar ? v.samples : 1); ++plane)
        for (int y0 = 0; y0 < height; y0 += rows)
            for (int x0 = 0; x0 < width; x0 += columns, ++strile) {
                std::vector<char> data;
                for (int y = y0; y < y0 + rows && (v.tiled || y < height); ++y)
                    for (int x = x0; x < x0 + columns; ++x)
                        for (int s = 0; s < side_by_side; ++s) {
                            const std::uint64_t bits[2] = {pixel_bits(page, y, x, plane + s),
                                                           ~pixel_bits(page, y, x, plane + s)};
                            const char* first = reinterpret_cast<const char*>(bits);
                            data.insert(data.end(), first, first + bytes);
                        }
                const auto count = static_cast<tmsize_t>(data.size());
                if (v.tiled)
                    REQUIRE(TIFFWriteEncodedTile(tiff, strile, data.data(), count) == count);
                else
                    REQUIRE(TIFFWriteEncodedStrip(tiff, strile, data.data(), count) == count);
            }
    REQUIRE(TIFFWriteDirectory(tiff) == 1);
}

void check(const std::string& path, const Variant& v) {
    INFO(to_text(v));
    TIFF* tiff = TIFFOpen(path.c_str(), v.mode);
    REQUIRE(tiff != nullptr);
    for (int page = 0; page < pages; ++page) write_page(tiff, v, page);
    TIFFClose(tiff);

    const auto reader = io::open_image(path);
    REQUIRE(reader->metadata().type == v.type);
    REQUIRE(reader->metadata().channels == v.samples);
    REQUIRE(reader->metadata().shape == Shape3{pages, height, width});
    bool equal = true;
    for (int s = 0; s < v.samples; ++s) {
        const Volume volume = read_channel(*reader, 0, s);
        for (int page = 0; page < pages; ++page)
            for (int y = 0; y < height; ++y)
                for (int x = 0; x < width; ++x) {
                    const std::uint64_t bits[2] = {pixel_bits(page, y, x, s),
                                                   ~pixel_bits(page, y, x, s)};
                    equal = equal &&
                            std::memcmp(volume.view().at(page, y, x), bits, size_of(v.type)) == 0;
                }
    }
    CHECK(equal);
}

}  // namespace

TEST_CASE("every variant of TIFF that libtiff writes is read", "[io][tiff]") {
    const MemoryFolder folder;
    const std::string path = folder / "a.tif";
    TIFFSetWarningHandler(nullptr);  // libtiff would warn of the old code for deflate
    const PixelType types[] = {PixelType::uint8,     PixelType::int8,    PixelType::uint16,
                               PixelType::int16,     PixelType::uint32,  PixelType::int32,
                               PixelType::float32,   PixelType::float64, PixelType::complex64,
                               PixelType::complex128};
    for (const char* mode : {"wl", "wb", "wb8"})
        for (const int compression : {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE,
                                      COMPRESSION_DEFLATE, COMPRESSION_PACKBITS, COMPRESSION_ZSTD})
            for (const bool tiled : {false, true})
                for (const PixelType type : types)
                    for (const int predictor : {1, 2, 3}) {
                        const bool predicts =
                            compression != COMPRESSION_NONE && compression != COMPRESSION_PACKBITS;
                        if (predictor == 2 && (!predicts || !is_integer(type))) continue;
                        if (predictor == 3 && (!predicts || is_integer(type) || is_complex(type)))
                            continue;
                        // libtiff writes the byte planes of predictor 3 in the wrong order when it
                        // swaps bytes.
                        if (predictor == 3 && mode[1] == 'b') continue;
                        if (!TIFFIsCODECConfigured(static_cast<std::uint16_t>(compression)))
                            continue;
                        check(path, {mode, compression, predictor, tiled, false, 1, type});
                        if (type != PixelType::uint16 && type != PixelType::float32) continue;
                        check(path, {mode, compression, predictor, tiled, false, 3, type});
                        check(path, {mode, compression, predictor, tiled, true, 3, type});
                    }
}

TEST_CASE("gray images that JPEG stores as YCbCr are read as three equal channels", "[io][tiff]") {
    const MemoryFolder folder;
    const std::string path = folder / "a.tif";
    constexpr int side = 32;
    TIFF* tiff = TIFFOpen(path.c_str(), "w");
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, side);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, side);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 3);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_JPEG);
    TIFFSetField(tiff, TIFFTAG_JPEGQUALITY, 100);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_YCBCR);
    TIFFSetField(tiff, TIFFTAG_YCBCRSUBSAMPLING, 2, 2);
    TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 16);
    std::vector<std::uint8_t> pixels;
    for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x) pixels.insert(pixels.end(), 3, std::uint8_t(4 * x + y));
    for (std::uint32_t strip = 0; strip < 2; ++strip)
        REQUIRE(TIFFWriteEncodedStrip(tiff, strip, pixels.data() + strip * 16 * side * 3,
                                      16 * side * 3) > 0);
    TIFFClose(tiff);
    const auto reader = io::open_image(path);
    REQUIRE(reader->metadata().channels == 3);
    for (index_t c = 0; c < 3; ++c) {
        const Volume color = read_channel(*reader, 0, c);
        const auto* got = static_cast<const std::uint8_t*>(color.view().data);
        int worst = 0;
        for (std::size_t i = 0; i < side * side; ++i)
            worst = std::max(worst, std::abs(got[i] - pixels[3 * i]));
        CHECK(worst <= 2);  // JPEG of quality 100 rounds to integers twice
    }
}

}  // namespace convolume::testing
