// SPDX-License-Identifier: Apache-2.0
// MRC files with headers made by hand: modes, byte orders, axes, stacks, damage; and files that are
// written.

#include <algorithm>
#include <bit>
#include <map>

#include "tests/io/io_support.hpp"

namespace convolume::testing {
namespace {

using Words = std::map<std::size_t, std::int32_t>;  // values of the header by their position

std::int32_t bits_of(float value) {
    return std::bit_cast<std::int32_t>(value);
}

/// Header of 4 columns, 3 rows and 2 sections of int16, with voxels of 2 × 5 × 10 Å (z last).
Words volume_header() {
    return {{0, 4},      {4, 3},  {8, 2},           {12, 1},           {28, 4},
            {32, 3},     {36, 2}, {40, bits_of(8)}, {44, bits_of(15)}, {48, bits_of(20)},
            {64, 1},     {68, 2}, {72, 3},          {88, 1},           {92, 0},
            {108, 20141}};
}

/// Returns a file of a header, its texts in the byte order of the machine stamp, and of `data`.
std::string mrc(const Words& words, const std::string& data, bool big_endian = false,
                const char* map = "MAP ") {
    std::string file(1024, '\0');
    for (const auto& [at, value] : words)
        for (std::size_t i = 0; i < 4; ++i)
            file[at + (big_endian ? 3 - i : i)] =
                static_cast<char>(static_cast<std::uint32_t>(value) >> 8 * i & 0xFF);
    file.replace(208, 4, map, 4);
    file[212] = file[213] = big_endian ? '\x11' : '\x44';
    return file + data;
}

/// Returns `count` numbers of two bytes, 0, 1, 2, …
std::string counting(int count, bool big_endian = false) {
    std::string data;
    for (int i = 0; i < count; ++i)
        data += big_endian ? std::string{'\0', char(i)} : std::string{char(i), '\0'};
    return data;
}

Words with(Words words, const Words& changes) {
    for (const auto& [at, value] : changes) words[at] = value;
    return words;
}

struct MrcFolder : MemoryFolder {
    std::string path(const std::string& bytes) const {
        write_bytes(*this / "a.mrc", bytes);
        return *this / "a.mrc";
    }
};

template <class Sample>
std::vector<double> values(io::ImageReader& reader, index_t t = 0) {
    const Volume volume = read_channel(reader, t);
    const Sample* const samples = volume.elements<Sample>();
    return {samples, samples + element_count(volume.shape())};
}

}  // namespace

TEST_CASE("MRC volumes of both byte orders are read", "[io]") {
    const MrcFolder folder;
    for (const bool big_endian : {false, true}) {
        const auto reader =
            io::open_image(folder.path(mrc(volume_header(), counting(24, big_endian), big_endian)));
        const io::ImageMetadata& got = reader->metadata();
        CHECK(got.format == "MRC");
        CHECK(got.axes == "ZYX");
        CHECK(got.shape == Shape3{2, 3, 4});
        CHECK(got.type == PixelType::int16);
        CHECK(got.unit == "Å");
        CHECK(got.notes.empty());
        CHECK(*got.voxel_size_um[0] == 10e-4);
        CHECK(*got.voxel_size_um[1] == 5e-4);
        CHECK(*got.voxel_size_um[2] == 2e-4);
        const std::vector<double> found = values<std::int16_t>(*reader);
        for (std::size_t i = 0; i < 24; ++i) CHECK(found[i] == static_cast<double>(i));
    }
}

TEST_CASE("an unknown machine stamp leaves the byte order to the mode", "[io]") {
    const MrcFolder folder;
    for (const bool big_endian : {false, true}) {
        std::string bytes = mrc(volume_header(), counting(24, big_endian), big_endian);
        bytes[212] = bytes[213] = '\0';
        CHECK(values<std::int16_t>(*io::open_image(folder.path(bytes)))[23] == 23);
    }
}

TEST_CASE("modes of MRC files are pixel types", "[io]") {
    const MrcFolder folder;
    const auto type_of = [&](std::int32_t mode, int bytes, const Words& changes = {}) {
        const Words words = with(with(volume_header(), {{12, mode}}), changes);
        const auto reader =
            io::open_image(folder.path(mrc(words, std::string(std::size_t(24 * bytes), '\xF0'))));
        read_channel(*reader);
        return reader->metadata().type;
    };
    CHECK(type_of(0, 1) == PixelType::int8);
    CHECK(type_of(0, 1, {{152, 0x444F4D49}}) == PixelType::uint8);  // IMOD's stamp
    CHECK(type_of(0, 1, {{152, 0x444F4D49}, {156, 1}}) == PixelType::int8);
    CHECK(type_of(1, 2) == PixelType::int16);
    CHECK(type_of(2, 4) == PixelType::float32);
    CHECK(type_of(4, 8) == PixelType::complex64);
    CHECK(type_of(6, 2) == PixelType::uint16);
    CHECK(type_of(12, 2) == PixelType::float32);
    for (const std::int32_t mode : {3, 5, 16, 101})
        CHECK(contains(refusal<BadData>(folder.path(
                           mrc(with(volume_header(), {{12, mode}}), std::string(400, 'x')))),
                       message("mode ", mode)));

    // 1, 1.5, -2 and 0.25 in half precision, in both byte orders.
    const Words row = with(volume_header(), {{4, 1}, {8, 1}, {12, 12}});
    const std::string halves("\x00\x3C\x00\x3E\x00\xC0\x00\x34", 8);
    std::string swapped = halves;
    for (std::size_t i = 0; i < 8; i += 2) std::swap(swapped[i], swapped[i + 1]);
    const std::vector<double> expected{1, 1.5, -2, 0.25};
    CHECK(values<float>(*io::open_image(folder.path(mrc(row, halves)))) == expected);
    CHECK(values<float>(*io::open_image(folder.path(mrc(row, swapped, true)))) == expected);
}

TEST_CASE("the extended header is skipped", "[io]") {
    const MrcFolder folder;
    const Words words = with(volume_header(), {{92, 160}});
    CHECK(values<std::int16_t>(*io::open_image(
              folder.path(mrc(words, std::string(160, 'x') + counting(24)))))[23] == 23);
}

TEST_CASE("stacks of volumes are times, stacks of images are planes", "[io]") {
    const MrcFolder folder;
    const Words volumes = with(volume_header(), {{8, 6}, {36, 2}, {88, 401}});
    const auto times = io::open_image(folder.path(mrc(volumes, counting(72))));
    CHECK(times->metadata().axes == "TZYX");
    CHECK(times->metadata().frames == 3);
    CHECK(times->metadata().shape == Shape3{2, 3, 4});
    CHECK(values<std::int16_t>(*times, 2)[0] == 48);
    CHECK(*times->metadata().voxel_size_um[0] == 10e-4);

    const std::string stack = folder.path(mrc(with(volume_header(), {{88, 0}}), counting(24)));
    const auto planes = io::open_image(stack);
    CHECK(planes->metadata().shape == Shape3{2, 3, 4});
    REQUIRE(planes->metadata().notes.size() == 1);
    CHECK(contains(planes->metadata().notes[0], "--axes TYX"));
    io::OpenOptions as_times;
    as_times.axes = "TYX";
    CHECK(io::open_image(stack, as_times)->metadata().frames == 2);
    CHECK(io::open_image(stack, as_times)->metadata().notes.empty());
    CHECK(contains(refusal<BadData>(folder.path(mrc(with(volumes, {{36, 4}}), counting(72)))),
                   "no stack of volumes of 4"));
}

TEST_CASE("columns, rows and sections may be any axes", "[io]") {
    const MrcFolder folder;
    std::vector<std::int32_t> order{1, 2, 3};
    do {
        const auto reader = io::open_image(
            folder.path(mrc(with(volume_header(), {{64, order[0]}, {68, order[1]}, {72, order[2]}}),
                            counting(24))));
        INFO(order[0] << order[1] << order[2]);
        // Extents and distances in the file are those of columns, rows and sections.
        const index_t extents[] = {4, 3, 2}, strides[] = {1, 4, 12};
        index_t extent[3] = {}, stride[3] = {};
        for (std::size_t i = 0; i < 3; ++i) {
            extent[order[i] - 1] = extents[i];
            stride[order[i] - 1] = strides[i];
        }
        REQUIRE(reader->metadata().shape == Shape3{extent[2], extent[1], extent[0]});
        const Volume volume = read_channel(*reader);
        for (index_t z = 0; z < extent[2]; ++z)
            for (index_t y = 0; y < extent[1]; ++y)
                for (index_t x = 0; x < extent[0]; ++x)
                    CHECK(*static_cast<const std::int16_t*>(volume.view().at(z, y, x)) ==
                          z * stride[2] + y * stride[1] + x * stride[0]);
        // The cell is given along x, y, z.
        CHECK(*reader->metadata().voxel_size_um[2] == 2e-4);
    } while (std::next_permutation(order.begin(), order.end()));
    const Words open = with(volume_header(), {{64, 0}, {68, 0}, {72, 0}});
    CHECK(io::open_image(folder.path(mrc(open, counting(24))))->metadata().axes == "ZYX");
    for (const Words& wrong : {Words{{64, 2}}, Words{{64, 4}}, Words{{72, -1}}})
        CHECK(
            contains(refusal<BadData>(folder.path(mrc(with(volume_header(), wrong), counting(24)))),
                     "order of its axes"));
}

TEST_CASE("voxel sizes that are no lengths are not set", "[io]") {
    const MrcFolder folder;
    for (const Words& cell : {Words{{40, 0}}, Words{{28, 0}}, Words{{28, -4}},
                              Words{{40, bits_of(-8)}}, Words{{40, 0x7FC00000}}})
        CHECK(!io::open_image(folder.path(mrc(with(volume_header(), cell), counting(24))))
                   ->metadata()
                   .voxel_size_um[2]);
}

TEST_CASE("damaged MRC files are refused in one sentence", "[io]") {
    const MrcFolder folder;
    const std::pair<std::string, const char*> cases[] = {
        {mrc(volume_header(), counting(23)), "truncated"},
        {mrc(with(volume_header(), {{92, 1}}), counting(24)), "truncated"},
        {mrc(with(volume_header(), {{92, 2147483647}}), counting(24)), "truncated"},
        {mrc(with(volume_header(), {{92, -4}}), counting(24)), "extended header"},
        {mrc(with(volume_header(), {{0, 0}}), counting(24)), "a shape of"},
        {mrc(with(volume_header(), {{8, -1}}), counting(24)), "a shape of"},
        {mrc(with(volume_header(), {{0, 2147483647}, {4, 2147483647}, {8, 2147483647}}),
             counting(24)),
         "says that it holds"},
        {mrc(volume_header(), counting(24)).substr(0, 1000), "is not a"},
        {mrc(volume_header(), counting(24), false, "MAX "), "is not a"},
    };
    for (const auto& [bytes, part] : cases) {
        const std::string text = refusal<BadData>(folder.path(bytes));
        INFO(part << " in: " << text);
        CHECK(contains(text, part));
    }
    CHECK(refusal<BadData>(folder.path(mrc(volume_header(), counting(25)))).empty());
}

TEST_CASE("MRC files come back as they were written", "[io]") {
    unsigned seed = 5;
    for (const PixelType type : {PixelType::int8, PixelType::int16, PixelType::uint16,
                                 PixelType::float32, PixelType::complex64})
        for (const index_t frames : {1, 3})
            for (const Shape3& shape : {Shape3{1, 6, 7}, Shape3{4, 5, 3}})
                for (const char* name : {"a.mrc", "a.map", "a.mrcs"}) {
                    INFO(name << " " << to_string(type) << " " << frames << " "
                              << to_string(shape));
                    const MemoryFolder folder;
                    io::ImageMetadata m;
                    m.frames = frames;
                    m.shape = shape;
                    m.type = type;
                    m.voxel_size_um = {0.3, 0.104, 0.1};
                    write_image(folder / name, m, ++seed, {false, io::Compression::none, "test"});
                    const auto reader = io::open_image(folder / name);
                    const io::ImageMetadata& got = reader->metadata();
                    REQUIRE(got.shape == shape);
                    REQUIRE(got.frames == frames);
                    REQUIRE(got.type == type);
                    const bool images = frames == 1 && shape.z > 1 && std::string(name) == "a.mrcs";
                    CHECK(got.notes.size() == (images ? 1 : 0));
                    for (std::size_t axis = 0; axis < 3; ++axis)
                        CHECK(std::abs(*got.voxel_size_um[axis] - *m.voxel_size_um[axis]) < 1e-9);
                    for (index_t t = 0; t < frames; ++t)
                        CHECK(same_bytes(
                            read_channel(*reader, t),
                            random_volume(shape, type, seed + static_cast<unsigned>(t))));
                    seed += static_cast<unsigned>(frames);
                    const std::string bytes = read_bytes(folder / name);
                    CHECK(bytes.substr(224, 4) == "test");
                    CHECK(bytes.substr(208, 4) == "MAP ");
                }
}

TEST_CASE("what MRC files do not hold is refused", "[io]") {
    const MemoryFolder folder;
    const auto refused = [&](const io::ImageMetadata& m, const io::CreateOptions& options = {}) {
        try {
            io::create_image(folder / "a.mrc", m, options);
        } catch (const InvalidArgument& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    io::ImageMetadata m;
    m.shape = {2, 3, 4};
    for (const PixelType type : {PixelType::uint8, PixelType::uint32, PixelType::int32,
                                 PixelType::float64, PixelType::complex128}) {
        m.type = type;
        CHECK(contains(refused(m), to_string(type)));
    }
    m.type = PixelType::float32;
    CHECK(contains(refused(m, {false, io::Compression::deflate, ""}), "no compression"));
    m.channels = 2;
    CHECK(contains(refused(m), "2 channels"));
    m.channels = 1;
    m.scaling = io::ValueScaling{2, 1};
    CHECK(contains(refused(m), "values stand for"));
    m.scaling.reset();
    m.shape = {2, 3, index_t{1} << 32};
    CHECK(contains(refused(m), "write HDF5"));
    CHECK(folder.names().empty());
}

}  // namespace convolume::testing
