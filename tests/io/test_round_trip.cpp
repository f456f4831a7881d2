// SPDX-License-Identifier: Apache-2.0
// Writes and reads images in every format: metadata and pixels are kept.

#include <cmath>

#include "tests/io/io_support.hpp"

namespace convolume::testing {
namespace {

struct FormatCase {
    const char* name;
    io::Compression compression;
    bool calibrated;  ///< whether the format holds voxel size and time interval
    bool built;
};

#ifdef CONVOLUME_HAVE_TIFF
constexpr bool have_tiff = true;
#else
constexpr bool have_tiff = false;
#endif
#ifdef CONVOLUME_HAVE_HDF5
constexpr bool have_hdf5 = true;
#else
constexpr bool have_hdf5 = false;
#endif

using io::Compression;
const FormatCase formats[] = {
    {"a.tif", Compression::none, true, have_tiff},
    {"a.tif", Compression::deflate, true, have_tiff},
    {"a.tiff", Compression::lzw, true, have_tiff},
    {"a.tif", Compression::zstd, true, have_tiff},
    {"a.tif", Compression::packbits, true, have_tiff},
    {"a.ome.tif", Compression::none, true, have_tiff},
    {"a.ome.btf", Compression::lzw, true, have_tiff},
    {"a.h5", Compression::none, true, have_hdf5},
    {"a.hdf5", Compression::deflate, true, have_hdf5},
    {"a.h5:/x/y", Compression::none, true, have_hdf5},
    {"a.npy", Compression::none, false, true},
};

const PixelType types[] = {PixelType::uint8,     PixelType::int8,    PixelType::uint16,
                           PixelType::int16,     PixelType::uint32,  PixelType::int32,
                           PixelType::float32,   PixelType::float64, PixelType::complex64,
                           PixelType::complex128};

struct Extents {
    index_t t, c;
    Shape3 shape;
};
const Extents extents[] = {{1, 1, {1, 1, 1}}, {1, 1, {1, 16, 9}}, {1, 1, {7, 13, 11}},
                           {1, 3, {4, 5, 6}}, {2, 1, {3, 1, 8}},  {2, 3, {4, 33, 17}},
                           {3, 2, {1, 6, 5}}};

bool is_near(double a, double b) {
    return std::abs(a - b) <= 1e-12 * std::abs(b);
}

/// Returns a view with unusual strides: every second column of a wider volume, planes in reverse.
ImageView awkward_view(Volume& wide, const Shape3& shape) {
    const Index3 s = wide.view().strides;
    return {wide.view().at(shape.z - 1, 0, 1), wide.type(), shape, {-s.z, s.y, 2}};
}

}  // namespace

TEST_CASE("images come back as they were written", "[io]") {
    const unsigned seed = 7;
    INFO("seed " << seed);
    for (const FormatCase& format : formats) {
        if (!format.built) continue;
        for (const PixelType type : types)
            for (const Extents& extent : extents) {
                INFO(format.name << " compression " << static_cast<int>(format.compression) << " "
                                 << to_string(type) << " " << extent.t << "," << extent.c << ","
                                 << to_string(extent.shape));
                const MemoryFolder folder;
                const std::string path = folder / format.name;
                io::ImageMetadata m;
                m.frames = extent.t;
                m.channels = extent.c;
                m.shape = extent.shape;
                m.type = type;
                m.voxel_size_um = {0.3, 0.104, 0.1};
                m.frame_interval_s = 0.25;
                write_image(path, m, seed, {false, format.compression, "test"});
                CHECK(folder.names().size() == 1);

                const auto reader = io::open_image(path);
                const io::ImageMetadata& got = reader->metadata();
                CHECK(got.frames == m.frames);
                CHECK(got.channels == m.channels);
                CHECK(got.shape == m.shape);
                REQUIRE(got.type == m.type);
                if (format.calibrated) {
                    for (std::size_t axis = 0; axis < 3; ++axis)
                        CHECK(is_near(got.voxel_size_um[axis].value_or(0), *m.voxel_size_um[axis]));
                    CHECK(got.frame_interval_s == m.frame_interval_s);
                }
                unsigned number = seed;
                for (index_t t = 0; t < m.frames; ++t)
                    for (index_t c = 0; c < m.channels; ++c) {
                        const Volume wanted = random_volume(m.shape, m.type, number++);
                        CHECK(same_bytes(read_channel(*reader, t, c), wanted));
                        // Reads one plane alone, into memory that is not contiguous.
                        Volume wide({1, m.shape.y, 2 * m.shape.x + 2}, m.type);
                        const ImageView plane = awkward_view(wide, {1, m.shape.y, m.shape.x});
                        reader->read_planes(t, c, m.shape.z - 1, plane);
                        bool equal = true;
                        for (index_t y = 0; y < m.shape.y; ++y)
                            for (index_t x = 0; x < m.shape.x; ++x)
                                equal = equal && std::memcmp(plane.at(0, y, x),
                                                             wanted.view().at(m.shape.z - 1, y, x),
                                                             size_of(type)) == 0;
                        CHECK(equal);
                    }
            }
    }
}

TEST_CASE("strided sources are written in the order of their view", "[io]") {
    for (const FormatCase& format : formats) {
        if (!format.built) continue;
        INFO(format.name);
        const MemoryFolder folder;
        io::ImageMetadata m;
        m.shape = {5, 7, 6};
        m.type = PixelType::uint16;
        Volume wide = random_volume({5, 7, 14}, m.type, 3);
        const ImageView source = awkward_view(wide, m.shape);
        const auto writer =
            io::create_image(folder / format.name, m, {false, format.compression, ""});
        writer->write(0, 0, source);
        writer->commit();
        const auto reader = io::open_image(folder / format.name);
        Volume back({5, 7, 14}, m.type);
        const ImageView target = awkward_view(back, m.shape);
        reader->read(0, 0, target);
        for (index_t z = 0; z < 5; ++z)
            for (index_t y = 0; y < 7; ++y)
                for (index_t x = 0; x < 6; ++x)
                    REQUIRE(std::memcmp(target.at(z, y, x), source.at(z, y, x), 2) == 0);
    }
}

TEST_CASE("units, names and texts are kept", "[io]") {
    const MemoryFolder folder;
    io::ImageMetadata m;
    m.shape = {2, 3, 4};
    m.channels = 2;
    m.type = PixelType::float32;
    m.unit = "nm";
    m.voxel_size_um = {std::nullopt, 0.25, 0.5};
    m.channel_names = {"GFP", "a < b & µ"};
    m.text["note"] = "grüße";
    for (const char* name : {"a.tif", "a.ome.tif", "a.h5"}) {
        if (std::string(name) == "a.h5" ? !have_hdf5 : !have_tiff) continue;
        INFO(name);
        write_image(folder / name, m, 1);
        const io::ImageMetadata got = io::open_image(folder / name)->metadata();
        CHECK(!got.voxel_size_um[0]);
        CHECK(is_near(got.voxel_size_um[1].value_or(0), 0.25));
        CHECK(is_near(got.voxel_size_um[2].value_or(0), 0.5));
        if (std::string(name) == "a.ome.tif")
            CHECK(got.channel_names == m.channel_names);
        else
            CHECK(got.unit == "nm");
        if (std::string(name) == "a.h5") CHECK(got.text.at("note") == m.text["note"]);
        CHECK(contains(io::to_string(got), "voxel size z: unknown"));
    }
}

}  // namespace convolume::testing
