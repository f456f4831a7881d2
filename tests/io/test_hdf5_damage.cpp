// SPDX-License-Identifier: Apache-2.0
// Tests HDF5 files that are cut short or hold content that cannot be read.

#include <hdf5.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/io/io_support.hpp"

namespace convolume::testing {

TEST_CASE("HDF5 files that are cut short are refused, and HDF5 itself prints nothing",
          "[io][hdf5]") {
    const MemoryFolder folder;
    const std::string path = folder / "a.h5";
    io::ImageMetadata m;
    m.shape = {3, 16, 16};
    write_image(path, m, 1);
    const std::string whole = read_bytes(path);
    for (std::size_t size = 9; size < whole.size(); size += 97) {
        write_bytes(path, whole.substr(0, size));
        INFO(size << " of " << whole.size());
        CHECK(!refusal<BadData>(path).empty());
    }
}

TEST_CASE("the error for HDF5 datasets that need a missing filter names it", "[io][hdf5]") {
    const MemoryFolder folder;
    const std::string path = folder / "a.h5";
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t dims[3] = {4, 8, 8};
    const hid_t space = H5Screate_simple(3, dims, nullptr);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 3, dims);
    H5Pset_filter(properties, 32099, H5Z_FLAG_OPTIONAL, 0, nullptr);
    const hid_t dataset =
        H5Dcreate2(file, "d", H5T_NATIVE_UINT16, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    REQUIRE(dataset >= 0);
    H5Dclose(dataset);
    H5Pclose(properties);
    H5Sclose(space);
    H5Fclose(file);
    CHECK(contains(refusal<BadData>(path), "32099"));
}

TEST_CASE("HDF5's compression limits and dataset names are checked", "[io][hdf5]") {
    const MemoryFolder folder;
    io::ImageMetadata m;
    m.shape = {1, 2, 3};
    CHECK_THROWS_AS(io::create_image(folder / "a.h5", m, {false, io::Compression::lzw, ""}),
                    InvalidArgument);
    CHECK_THROWS_AS(io::create_image(folder / "a.h5:/", m), CannotCreate);
    CHECK(folder.names().size() == 0);
    write_image((folder / "a.h5") + ":/deep/down/data", m, 1);
    CHECK(contains(refusal<BadData>((folder / "a.h5") + ":/deep"), "/deep/down/data"));
    CHECK(refusal<BadData>(folder / "a.h5").empty());
}

// Damages HDF5 chunks only: HDF5 itself can crash on a damaged heap or object header
// (contain_damage(), tests/campaign/check_damaged_hdf5.py).
TEST_CASE("HDF5 chunks with damaged bytes do no harm", "[io][hdf5][fuzz]") {
    const MemoryFolder folder;
    const std::string path = folder / "a.h5";
    io::ImageMetadata m;
    m.shape = {3, 40, 50};
    m.type = PixelType::uint16;
    write_image(path, m, 1, {false, io::Compression::deflate, ""});
    const std::string whole = read_bytes(path);
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "data", H5P_DEFAULT);
    const hsize_t origin[3] = {0, 0, 0};
    unsigned mask = 0;
    haddr_t address = 0;
    hsize_t size = 0;
    REQUIRE(H5Dget_chunk_info_by_coord(dataset, origin, &mask, &address, &size) >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    const unsigned seed = 20240613;
    INFO("seed " << seed);
    std::mt19937 random(seed);
    int refused = 0;
    for (int i = 0; i < 300; ++i) {
        std::string bytes = whole;
        bytes[address + random() % size] = static_cast<char>(random());
        write_bytes(path, bytes);
        if (!refusal<BadData>(path).empty()) ++refused;
    }
    CHECK(refused > 0);
}

// Writes a file whose dataset `d` of uint16 is one HDF5 chunk, of which `stored` bytes are stored.
void write_one_chunk(const std::string& path, const std::array<hsize_t, 3>& dims, bool shuffles,
                     const std::string& samples, std::size_t stored) {
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(3, dims.data(), nullptr);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 3, dims.data());
    if (shuffles) H5Pset_shuffle(properties);
    const hid_t dataset =
        H5Dcreate2(file, "d", H5T_NATIVE_UINT16, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    const hsize_t origin[3] = {0, 0, 0};
    REQUIRE(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, origin, stored, samples.data()) >= 0);
    H5Dclose(dataset);
    H5Pclose(properties);
    H5Sclose(space);
    H5Fclose(file);
}

// HDF5 reads as many bytes of an HDF5 chunk as its index says, into memory of any size.
TEST_CASE("HDF5 chunks may be shuffled by elements of any size, and too short ones are refused",
          "[io][hdf5]") {
    constexpr std::size_t bytes = 2 * 6 * 5 * 2;
    std::string samples(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i) samples[i] = static_cast<char>(i * 37 + 11);
    for (const std::size_t element : {1u, 2u, 3u, 7u})
        for (const std::size_t stored : {bytes, std::size_t{84}}) {
            const MemoryFolder folder;
            const std::string path = folder / "a.h5";
            std::string shuffled(samples);
            const std::size_t elements = bytes / element;
            for (std::size_t i = 0; i < elements; ++i)
                for (std::size_t b = 0; b < element; ++b)
                    shuffled[b * elements + i] = samples[i * element + b];
            write_one_chunk(path, {2, 6, 5}, true, shuffled, stored);
            // HDF5 itself stores the size of a sample as the size of the elements.
            std::string whole = read_bytes(path);
            const std::size_t at = whole.find(std::string("shuffle\0\2\0\0\0", 12));
            REQUIRE(at != std::string::npos);
            whole[at + 8] = static_cast<char>(element);
            write_bytes(path, whole);
            INFO("elements of " << element << ", " << stored << " bytes");
            CHECK(contains(refusal<BadData>(path), "another size") == (stored < bytes));
            if (stored < bytes) continue;
            const auto reader = io::open_image(path);
            Volume got({2, 6, 5}, PixelType::uint16);
            reader->read_box(0, 0, {{0, 0, 0}, {2, 6, 5}}, got.view());
            CHECK(std::string(static_cast<const char*>(std::as_const(got).view().data), bytes) ==
                  samples);
        }
}

// HDF5 would return other memory, or zeros, for the missing samples.
TEST_CASE("HDF5 chunks without filters that are too short are refused", "[io][hdf5]") {
    // HDF5 chunks smaller and larger than the rest of the file.
    for (const hsize_t edge : {6u, 300u})
        for (const std::size_t short_by : {0u, 1u, 40u}) {
            const MemoryFolder folder;
            const std::string path = folder / "a.h5";
            const std::size_t bytes = 2 * edge * edge * 2;
            const std::size_t stored = edge == 6 || short_by == 0 ? bytes - short_by : 84;
            write_one_chunk(path, {2, edge, edge}, false, std::string(bytes, '\7'), stored);
            INFO(stored << " of " << bytes << " bytes");
            CHECK(contains(refusal<BadData>(path), "another size") == (stored < bytes));
        }
}

TEST_CASE("HDF5 chunks without filters are read even if the index calls them larger",
          "[io][hdf5]") {
    const MemoryFolder folder;
    const std::string path = folder / "a.h5";
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t chunk[3] = {1, 3, 5};
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 3, chunk);
    const auto write = [&](const char* name, const hsize_t(&dims)[3], hid_t created) {
        const hid_t space = H5Screate_simple(3, dims, nullptr);
        const hid_t dataset =
            H5Dcreate2(file, name, H5T_NATIVE_UINT16, space, H5P_DEFAULT, created, H5P_DEFAULT);
        std::vector<std::uint16_t> samples(dims[0] * dims[1] * dims[2]);
        for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<std::uint16_t>(i);
        REQUIRE(H5Dwrite(dataset, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                         samples.data()) >= 0);
        H5Dclose(dataset);
        H5Sclose(space);
    };
    write("d", {2, 6, 10}, properties);
    write("others", {8, 512, 512}, H5P_DEFAULT);
    H5Pclose(properties);
    H5Fclose(file);

    // Each key in a node of the index begins with the number of bytes of its HDF5 chunk.
    std::string bytes = read_bytes(path);
    const std::string of_chunks("TREE\1\0", 6);
    const std::size_t node = bytes.find(of_chunks);
    REQUIRE(node != std::string::npos);
    const std::size_t first_key = node + 8 + 2 * 8, key_bytes = 4 + 4 + 4 * 8, address_bytes = 8;
    const std::uint32_t right = 30, wrong = 3 << 20;
    for (std::size_t i = 0; i < 8; ++i) {
        char* const key = &bytes[first_key + i * (key_bytes + address_bytes)];
        REQUIRE(std::memcmp(key, &right, sizeof right) == 0);
        std::memcpy(key, &wrong, sizeof wrong);
    }
    write_bytes(path, bytes);
    const auto reader = io::open_image(path + ":/d");
    Volume volume({2, 6, 10}, PixelType::uint16);
    reader->read(0, 0, volume.view());
    const auto* const samples = static_cast<const std::uint16_t*>(volume.view().data);
    for (std::uint16_t i = 0; i < 120; ++i) CHECK(samples[i] == i);
}

namespace {

/// Writes a text attribute, of variable length if `bytes` is 0.
void write_text(hid_t object, const char* name, const std::string& text, std::size_t bytes) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, bytes == 0 ? H5T_VARIABLE : bytes);
    H5Tset_cset(type, H5T_CSET_UTF8);
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    std::string padded = text;
    padded.resize(std::max(bytes, text.size()));
    const char* const start = padded.c_str();
    REQUIRE(H5Awrite(attribute, type, bytes == 0 ? static_cast<const void*>(&start) : start) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

/// Writes texts in compact storage, or in dense storage if they are large.
std::map<std::string, std::string> write_texts(const std::string& path, bool large) {
    std::map<std::string, std::string> texts{{"name", "cells"},
                                             {"\u00B5-name", "5 \u00B5m, \u7D30\u80DE"},
                                             {"empty", ""},
                                             {"long", std::string(60'000, 'l')}};
    if (large)
        for (int i = 0; i < 40; ++i)
            texts["large " + std::to_string(i)] =
                std::string(65'000, static_cast<char>('A' + i % 26));
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (large) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    const hsize_t dims[3] = {2, 3, 4};
    const hid_t space = H5Screate_simple(3, dims, nullptr);
    const hid_t dataset =
        H5Dcreate2(file, "d", H5T_NATIVE_UINT16, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    write_text(dataset, "unit", "nm", 0);
    const hsize_t three = 3;
    const double sizes[3] = {0.5, 0.25, 0.125};
    const hid_t numbers = H5Screate_simple(1, &three, nullptr);
    const hid_t size =
        H5Acreate2(dataset, "element_size_um", H5T_IEEE_F64BE, numbers, H5P_DEFAULT, H5P_DEFAULT);
    REQUIRE(H5Awrite(size, H5T_NATIVE_DOUBLE, sizes) >= 0);
    H5Aclose(size);
    H5Sclose(numbers);
    for (const auto& [name, text] : texts) write_text(dataset, name.c_str(), text, 0);
    for (const char* const name : {"name", "\u00B5-name", "long"})
        write_text(dataset, (std::string("fixed ") + name).c_str(), texts[name],
                   texts[name].size() + (texts[name] == "cells" ? 0 : 3));
    write_text(dataset, "fixed empty", "", 1);
    for (const char* const name : {"name", "\u00B5-name", "long", "empty"})
        texts[std::string("fixed ") + name] = texts[name];
    H5Dclose(dataset);
    H5Sclose(space);
    H5Fclose(file);
    H5Pclose(access);
    return texts;
}

}  // namespace

TEST_CASE("attributes of HDF5 are the same if a helper process reads them", "[io][hdf5]") {
    const MemoryFolder folder;
    const bool large = GENERATE(false, true);
    const bool contained = GENERATE(false, true);
    const auto texts = write_texts(folder / "a.h5", large);
    io::contain_damage(contained);
    const auto reader = io::open_image(folder / "a.h5");
    io::contain_damage(false);
    CHECK(reader->metadata().unit == "nm");
    CHECK(reader->metadata().text == texts);
    for (std::size_t axis = 0; axis < 3; ++axis)
        CHECK(reader->metadata().voxel_size_um[axis] == 0.5 / static_cast<double>(1 << axis));
}

TEST_CASE("a linked HDF5 file that changes while it is read is an error", "[io][hdf5]") {
    const MemoryFolder folder;
    io::ImageMetadata m;
    m.shape = {4, 16, 16};
    write_image(folder / "linked.h5", m, 1);
    const hid_t file =
        H5Fcreate((folder / "a.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    REQUIRE(H5Lcreate_external("linked.h5", "/data", file, "image", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Fclose(file);
    auto reader = io::open_image(folder / "a.h5");
    CHECK(same_bytes(read_channel(*reader), random_volume(m.shape, m.type, 1)));
    reader->check_unchanged();
    const std::string bytes = read_bytes(folder / "linked.h5");
    write_bytes(folder / "linked.h5", bytes.substr(0, bytes.size() / 2));
    CHECK_THROWS_AS(reader->check_unchanged(), IoError);
    CHECK_THROWS_AS(read_channel(*reader), IoError);
    reader.reset();
    const std::string refused = refusal<BadData>(folder / "a.h5");
    CHECK(contains(refused, "linked.h5"));
}

}  // namespace convolume::testing
