// SPDX-License-Identifier: Apache-2.0
#include "tests/io/io_support.hpp"

namespace convolume::testing {
namespace {

std::string npy(std::string header, std::size_t data_bytes, char version = 1) {
    header += '\n';
    std::string file("\x93NUMPY", 6);
    file += version;
    file += '\0';
    file += static_cast<char>(header.size() & 0xFF);
    file += static_cast<char>(header.size() >> 8);
    if (version > 1) file.append(2, '\0');
    return file + header + std::string(data_bytes, '\1');
}

}  // namespace

TEST_CASE("damaged NPY files are refused in one sentence", "[io]") {
    const MemoryFolder folder;
    const std::string path = folder / "a.npy";
    const std::string good = "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }";
    write_bytes(path, npy(good, 12));
    CHECK(refusal<BadData>(path).empty());
    const std::pair<std::string, const char*> cases[] = {
        {npy(good, 11), "truncated"},
        {npy(good, 12).substr(0, 30), "damaged header"},
        {npy(good, 12).substr(0, 8), "no header"},
        {npy(good, 12, 9), "version 9"},
        {npy("{'descr': '<u2', 'fortran_order': False}", 12), "shape"},
        {npy("{'descr': '<U2', 'fortran_order': False, 'shape': (2, 3)}", 12), "not supported"},
        {npy("{'descr': '', 'fortran_order': False, 'shape': (2, 3)}", 12), "unknown element type"},
        {npy("{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (2, 3)}", 12),
         "structured"},
        {npy("{'descr': '<u2', 'fortran_order': False, 'shape': (2, -3)}", 12), "shape"},
        {npy("{'descr': '<u2', 'fortran_order': False, 'shape': (0, 3)}", 12), "no elements"},
        {npy("{'descr': '<f8', 'fortran_order': True, 'shape': (4294967296, 4294967296, "
             "4294967296)}",
             12),
         "says"},
        {npy("{'descr': '<u1', 'fortran_order': False, 'shape': (1, 2, 1, 2, 1, 3)}", 12), ""},
        {npy("{'descr': '<u1', 'fortran_order': False, 'shape': (2, 1, 2, 1, 3, 1)}", 12),
         "dimensions"},
    };
    for (const auto& [bytes, part] : cases) {
        write_bytes(path, bytes);
        const std::string text = refusal<BadData>(path);
        INFO(part << " in: " << text);
        if (std::string(part).empty())
            CHECK(text.empty());
        else
            CHECK(contains(text, part));
    }
}

TEST_CASE("files that are not images are refused", "[io]") {
    const MemoryFolder folder;
    CHECK(contains(refusal<InputNotFound>(folder / "missing.tif"), "missing.tif"));
    CHECK(contains(refusal<InputNotFound>(folder / ""), "is a folder"));
    write_bytes(folder / "empty.tif", "");
    CHECK(contains(refusal<BadData>(folder / "empty.tif"), "empty"));
    write_bytes(folder / "text.tif", "hello");
    CHECK(contains(refusal<BadData>(folder / "text.tif"), "not a TIFF, OME-TIFF, HDF5, "));
    io::ImageMetadata m;
    m.shape = {1, 2, 3};
    write_image(folder / "a.npy", m, 1);
    CHECK(contains(refusal<InvalidArgument>((folder / "a.npy") + ":/data"), "no dataset"));
    // The content decides the format, not the name.
    std::filesystem::rename(folder / "a.npy", folder / "a.tif");
    CHECK(refusal<BadData>(folder / "a.tif").empty());
}

}  // namespace convolume::testing
