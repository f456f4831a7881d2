// SPDX-License-Identifier: Apache-2.0
// Tests TIFFs that are cut short, loop, or state wrong sizes.

#include <tiffio.h>

#include "tests/io/io_support.hpp"

namespace convolume::testing {
namespace {

/// An entry {tag, type, count, value} in the directory of a little-endian classic TIFF with one
/// directory.
struct Entry {
    std::uint16_t tag, type;
    std::uint32_t count, value;
};

template <class T>
void append(std::string& bytes, T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string tiny_tiff(const std::vector<Entry>& entries, std::uint32_t next = 0) {
    std::string file("II*\0", 4);
    append(file, std::uint32_t{8});
    append(file, static_cast<std::uint16_t>(entries.size()));
    for (const Entry& entry : entries) {
        append(file, entry.tag);
        append(file, entry.type);
        append(file, entry.count);
        append(file, entry.value);
    }
    append(file, next);
    return file + std::string(64, '\0');
}

std::vector<Entry> page(std::uint32_t width, std::uint32_t height, std::uint32_t compression = 1,
                        std::uint32_t bytes = 16, std::uint32_t offset = 8) {
    return {{256, 4, 1, width},       {257, 4, 1, height}, {258, 3, 1, 8},
            {259, 3, 1, compression}, {262, 3, 1, 1},      {273, 4, 1, offset},
            {277, 3, 1, 1},           {278, 4, 1, height}, {279, 4, 1, bytes}};
}

}  // namespace

TEST_CASE("TIFFs that state wrong sizes are refused before memory is allocated", "[io][tiff]") {
    const MemoryFolder folder;
    const std::string path = folder / "a.tif";
    write_bytes(path, tiny_tiff(page(4, 4)));
    CHECK(refusal<BadData>(path).empty());

    std::vector<Entry> tiles = page(2000000000, 2000000000, COMPRESSION_ADOBE_DEFLATE);
    tiles[7] = {322, 4, 1, 2000000000 / 16 * 16};
    tiles[5].tag = 324, tiles[8].tag = 325;
    tiles.insert(tiles.begin() + 8, {323, 4, 1, 2000000000 / 16 * 16});
    std::swap(tiles[5], tiles[6]);
    const std::vector<Entry> liars[] = {page(2000000000, 2000000000),
                                        page(4, 5, 1, 20, 4000),
                                        page(4, 100, 1, 16),
                                        page(4000, 4000, COMPRESSION_PACKBITS),
                                        page(60000, 60000, COMPRESSION_ADOBE_DEFLATE),
                                        page(60000, 60000, COMPRESSION_LZW),
                                        page(0, 4),
                                        tiles};
    for (const auto& liar : liars) {
        write_bytes(path, tiny_tiff(liar));
        reset_memory_peak();
        const index_t before = memory_use().current_bytes;
        const std::string text = refusal<BadData>(path);
        INFO(text);
        CHECK(!text.empty());
        CHECK(memory_use().peak_bytes - before < (1 << 20));
    }
    // libtiff corrects a byte count that the other tags contradict.
    write_bytes(path, tiny_tiff(page(4, 4, 1, 0xFFFFFFFF)));
    CHECK(refusal<BadData>(path).empty());
    // An endless loop of pages that share the same bytes.
    write_bytes(path, tiny_tiff(page(4, 4), 8));
    CHECK(contains(refusal<BadData>(path), "loop"));
}

TEST_CASE("TIFFs that are cut short are refused unless all pixels are there", "[io][tiff]") {
    const MemoryFolder folder;
    const std::string path = folder / "a.tif";
    io::ImageMetadata m;
    m.shape = {3, 8, 8};
    m.type = PixelType::uint8;
    for (const io::Compression compression : {io::Compression::none, io::Compression::lzw}) {
        write_image(path, m, 1, {true, compression, ""});
        const std::string whole = read_bytes(path);
        const Volume wanted = random_volume(m.shape, m.type, 1);
        int refused = 0;
        for (std::size_t size = 1; size < whole.size(); ++size) {
            write_bytes(path, whole.substr(0, size));
            INFO(size << " of " << whole.size());
            bool right = false;
            try {
                right = same_bytes(read_channel(*io::open_image(path)), wanted);
            } catch (const BadData&) {
                right = true;
                ++refused;
            }
            CHECK(right);
        }
        CHECK(refused > static_cast<int>(whole.size() * 9 / 10));
    }
}

TEST_CASE("pages of different sizes are separate images to choose from", "[io][tiff]") {
    const MemoryFolder folder;
    const std::string path = folder / "a.tif";
    TIFF* tiff = TIFFOpen(path.c_str(), "w");
    for (const int width : {4, 4, 5}) {
        TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, width);
        TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 1);
        TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
        TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, 1);
        char row[8] = "abcdefg";
        TIFFWriteEncodedStrip(tiff, 0, row, width);
        TIFFWriteDirectory(tiff);
    }
    TIFFClose(tiff);
    CHECK(contains(refusal<BadData>(path), "0 (2×1×4 uint8), 1 (1×1×5 uint8)"));
    CHECK(contains(refusal<BadData>(path), "--image N"));
    io::OpenOptions second;
    second.image = "1";
    CHECK(io::open_image(path, second)->metadata().shape == Shape3{1, 1, 5});
    second.image = "2";
    CHECK(contains(refusal<InvalidArgument>(path, second), "no image \"2\""));
}

TEST_CASE("the error for unsupported pixels names the page", "[io][tiff]") {
    const MemoryFolder folder;
    const std::string path = folder / "a.tif";
    std::vector<Entry> bits = page(4, 4);
    bits[2].value = 24;
    write_bytes(path, tiny_tiff(bits));
    CHECK(contains(refusal<BadData>(path), "page 0 of"));
    CHECK(contains(refusal<BadData>(path), "24-bit pixels"));
    write_bytes(path, tiny_tiff(page(4, 4, 65000)));
    CHECK(contains(refusal<BadData>(path), "compression 65000"));
}

}  // namespace convolume::testing
