// SPDX-License-Identifier: Apache-2.0
// Tests several files that are read as one image. The files are parts of one array in memory.

#include <algorithm>

#include "tests/io/io_support.hpp"

namespace convolume::testing {
namespace {

namespace fs = std::filesystem;

/// Writes one plane of NPY that holds `value` in all pixels.
void write_plane(const std::string& path, double value, const Shape3& shape = {1, 3, 4}) {
    Volume plane(shape, PixelType::float32);
    std::fill_n(plane.elements<float>(), element_count(shape), static_cast<float>(value));
    io::ImageMetadata metadata;
    metadata.shape = shape;
    const auto writer = io::create_image(path, metadata);
    writer->write(0, 0, plane.view());
    writer->commit();
}

/// Returns the first pixel of each plane.
std::vector<float> first_pixels(io::ImageReader& reader, index_t t = 0, index_t c = 0) {
    Volume all = read_channel(reader, t, c);
    std::vector<float> pixels;
    for (index_t z = 0; z < all.shape().z; ++z)
        pixels.push_back(*static_cast<const float*>(all.view().at(z, 0, 0)));
    return pixels;
}

}  // namespace

TEST_CASE("planes of a folder are in the order of their numbers", "[io]") {
    const MemoryFolder folder;
    for (int z = 1; z <= 11; ++z) write_plane(folder / ("z" + std::to_string(z) + ".npy"), z);
    write_bytes(folder / "notes.txt", "not an image");
    write_bytes(folder / ".hidden.npy", "not an image");
    const std::vector<float> wanted{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    for (const std::string& path : {std::string(folder / ""), folder / "z*.npy"}) {
        const auto reader = io::open_image(path, {.stack = "z"});
        CHECK(reader->metadata().shape == Shape3{11, 3, 4});
        CHECK(reader->metadata().axes == "ZYX");
        CHECK(reader->metadata().notes == io::open_image(folder / "z1.npy")->metadata().notes);
        CHECK(first_pixels(*reader) == wanted);
        reader->check_unchanged();
    }
    CHECK(first_pixels(*io::open_image(folder / "z{z}.npy")) == wanted);
    CHECK(first_pixels(*io::open_image(
              "", {.stack = "Z", .stack_files = {folder / "z3.npy", folder / "z1.npy"}})) ==
          std::vector<float>{3, 1});
    const auto times = io::open_image(folder / "z*.npy", {.stack = "t"});
    CHECK(times->metadata().frames == 11);
    CHECK(first_pixels(*times, 4) == std::vector<float>{5});
}

TEST_CASE("a template names times, channels and planes", "[io]") {
    const MemoryFolder folder;
    const auto name = [&](int t, const std::string& c, int z) {
        return folder /
               ("img_t" + std::to_string(t) + "_c" + c + "_z" + std::to_string(z) + ".npy");
    };
    const std::vector<std::string> channels{"DAPI", "GFP"};
    for (int t = 0; t < 2; ++t)
        for (int c = 0; c < 2; ++c)
            for (int z = 8; z < 12; ++z)
                write_plane(name(t, channels[static_cast<std::size_t>(c)], z),
                            100 * t + 10 * c + z - 8);
    const std::string path = folder / "img_t{t}_c{c}_z{z}.npy";
    CHECK(io::is_name_template(path));
    CHECK(io::image_files(path).size() == 16);
    CHECK(io::image_files(path).at(5) == name(0, "GFP", 9));
    const auto reader = io::open_image(path);
    const io::ImageMetadata& metadata = reader->metadata();
    CHECK((metadata.frames == 2 && metadata.channels == 2 && metadata.shape.z == 4));
    CHECK(metadata.channel_names == channels);
    for (int t = 0; t < 2; ++t)
        for (int c = 0; c < 2; ++c) {
            const auto first = static_cast<float>(100 * t + 10 * c);
            CHECK(first_pixels(*reader, t, c) ==
                  std::vector<float>{first, first + 1, first + 2, first + 3});
        }
    // A box of some planes, which begins within the stack.
    Volume box({2, 1, 2}, PixelType::float32);
    reader->read_box(1, 0, {{2, 1, 1}, {4, 2, 3}}, box.view());
    CHECK(box.elements<float>()[0] == 102);
    CHECK(box.elements<float>()[3] == 103);

    fs::remove(name(1, "DAPI", 10));
    CHECK(contains(refusal<BadData>(path), "t 1, c DAPI, z 10"));
}

TEST_CASE("stacks of files with several planes are joined", "[io]") {
    const MemoryFolder folder;
    write_plane(folder / "a1.npy", 1, {2, 3, 4});
    write_plane(folder / "a2.npy", 2, {2, 3, 4});
    const auto planes = io::open_image(folder / "a*.npy", {.stack = "z"});
    CHECK(first_pixels(*planes) == std::vector<float>{1, 1, 2, 2});
    const auto channels = io::open_image(folder / "a*.npy", {.stack = "c"});
    CHECK(channels->metadata().channels == 2);
    CHECK(first_pixels(*channels, 0, 1) == std::vector<float>{2, 2});
}

TEST_CASE("a skipped number gets a note", "[io]") {
    const MemoryFolder folder;
    for (const int z : {98, 99, 101, 102})
        write_plane(folder / ("z" + std::to_string(z) + ".npy"), z);
    for (const auto& [path, stack] : {std::pair{"z*.npy", "z"}, std::pair{"z{z}.npy", ""}}) {
        const auto reader = io::open_image(folder / path, {.stack = stack});
        REQUIRE(!reader->metadata().notes.empty());
        CHECK(contains(reader->metadata().notes.back(), "skip 100"));
    }
}

TEST_CASE("many files are read with few open at once", "[io]") {
    const MemoryFolder folder;
    constexpr int count = 150;
    std::vector<float> wanted;
    for (int z = 0; z < count; ++z) {
        write_plane(folder / (std::to_string(z) + ".npy"), z);
        wanted.push_back(static_cast<float>(z));
    }
    const auto reader = io::open_image(folder / "", {.stack = "z"});
    CHECK(first_pixels(*reader) == wanted);
    write_bytes(folder / "3.npy", read_bytes(folder / "4.npy"));
    CHECK_THROWS_AS(reader->check_unchanged(), IoError);
    CHECK_THROWS_AS(read_channel(*reader), IoError);
}

TEST_CASE("stacks that cannot be read get one sentence", "[io]") {
    const MemoryFolder folder;
    for (const char* name : {"a1.npy", "a2.npy"}) write_plane(folder / name, 1);
    CHECK(contains(refusal<InputNotFound>(folder / ""), "stack"));
    CHECK(contains(refusal<InputNotFound>(folder / "a*.npy"), "stack"));
    CHECK(contains(refusal<InputNotFound>(folder / "b*.npy", {.stack = "z"}), "no file matches"));
    CHECK(contains(refusal<InputNotFound>(folder / "b{z}.npy"), "no file matches"));
    CHECK(contains(refusal<InvalidArgument>(folder / "a*.npy", {.stack = "x"}), "t, c or z"));
    CHECK(contains(refusal<InvalidArgument>(folder / "a{z}.npy", {.stack = "z"}), "leave out"));
    write_plane(folder / "b1.npy", 1);
    CHECK(contains(refusal<InvalidArgument>(folder / "?{z}.npy"), "same place"));
    write_plane(folder / "a3.npy", 1, {1, 3, 5});
    const std::string reason = refusal<BadData>(folder / "a{z}.npy");
    CHECK(contains(reason, "a3.npy"));
    CHECK(contains(reason, "1×3×5"));
}

}  // namespace convolume::testing
