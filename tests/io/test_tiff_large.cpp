// SPDX-License-Identifier: Apache-2.0
// Tests files beyond 4 GiB: sparse ones, so that only the samples that are read take space or time.

#include <filesystem>

#include "tests/io/io_support.hpp"

namespace convolume::testing {
namespace {

void poke(const std::string& path, index_t offset, const std::string& bytes) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offset);
    file << bytes;
}

}  // namespace

TEST_CASE("ImageJ's files beyond 4 GiB have one directory for all planes", "[io][tiff]") {
    const TemporaryFolder folder;
    const std::string path = folder / "big.tif";
    io::ImageMetadata m;
    m.type = PixelType::uint16;
    m.shape = {1, 1024, 1024};
    m.voxel_size_um = {0.3, 0.1, 0.1};
    write_image(path, m, 1);
    // The directory lies behind the first plane: as in ImageJ's files, it must not overlap the
    // other planes.
    std::string file = read_bytes(path);
    const std::string old_text = "ImageJ=1.53t\nimages=1\nmode=grayscale\n";
    const auto at = file.find(old_text);
    REQUIRE(at != std::string::npos);
    std::string text = "ImageJ=1.53t\nimages=2500\nslices=2500\n";
    text.resize(old_text.size(), '\n');
    REQUIRE(text.size() == old_text.size());
    file.replace(at, text.size(), text);
    // The planes are moved behind everything else: patches StripOffsets, the 8-byte entry of tag
    // 273 (little-endian).
    const std::string entry("\x11\x01\x04\x00\x01\x00\x00\x00", 8);
    const auto strip = file.find(entry);
    REQUIRE(strip != std::string::npos);
    const index_t data = round_up(static_cast<index_t>(file.size()), 4096);
    for (std::size_t i = 0; i < 4; ++i) file[strip + 8 + i] = static_cast<char>(data >> (8 * i));
    write_bytes(path, file);
    const index_t plane = 1024 * 1024 * 2;
    std::filesystem::resize_file(path, static_cast<std::uintmax_t>(data + 2500 * plane));
    poke(path, data + 2400 * plane, "AB");
    poke(path, data + 2500 * plane - 2, "YZ");

    const auto reader = io::open_image(path);
    CHECK(reader->metadata().shape == Shape3{2500, 1024, 1024});
    CHECK(reader->metadata().bytes() == 2500 * plane);
    Volume two({1, 1024, 1024}, PixelType::uint16);
    reader->read_planes(0, 0, 2400, two.view());
    CHECK(std::memcmp(two.view().at(0, 0, 0), "AB", 2) == 0);
    reader->read_planes(0, 0, 2499, two.view());
    CHECK(std::memcmp(two.view().at(0, 1023, 1023), "YZ", 2) == 0);
    CHECK_THROWS_AS(reader->read_planes(0, 0, 2500, two.view()), InvalidArgument);

    std::filesystem::resize_file(path, static_cast<std::uintmax_t>(data + 2500 * plane - 1));
    CHECK(contains(refusal<BadData>(path), "2500"));
}

TEST_CASE("stacks beyond 4 GiB are written as BigTIFF", "[io][tiff]") {
    const TemporaryFolder folder;
    std::uintmax_t available = std::filesystem::space(folder / "").available;
    if (available < (std::uintmax_t{6} << 30)) SKIP("needs 6 GiB of free disk");
    io::ImageMetadata m;
    m.type = PixelType::float32;
    m.shape = {1030, 1024, 1024};
    m.voxel_size_um = {0.3, 0.2, 0.1};
    const Volume plane = random_volume({1, 1024, 1024}, m.type, 5);
    // All planes of the view share the memory of one plane.
    ConstImageView all = plane.view();
    all.shape = m.shape;
    all.strides.z = 0;
    const auto writer = io::create_image(folder / "big.tif", m);
    writer->write(0, 0, all);
    writer->commit();
    std::string head(4, '\0');
    std::ifstream(folder / "big.tif", std::ios::binary).read(head.data(), 4);
    CHECK((head == std::string("II+\0", 4) || head == std::string("MM\0+", 4)));
    const auto reader = io::open_image(folder / "big.tif");
    CHECK(reader->metadata().format == "ImageJ TIFF");
    CHECK(reader->metadata().shape == m.shape);
    CHECK(reader->metadata().voxel_size_um == m.voxel_size_um);
    Volume last({1, 1024, 1024}, m.type);
    reader->read_planes(0, 0, 1029, last.view());
    CHECK(same_bytes(last, plane));
}

}  // namespace convolume::testing
