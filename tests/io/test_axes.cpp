// SPDX-License-Identifier: Apache-2.0
#include "tests/io/io_support.hpp"

namespace convolume::testing {

TEST_CASE("paths name a file and a dataset", "[io]") {
    const auto parts = [](const char* path) {
        const io::PathSpec spec = io::parse_path(path);
        return spec.file + "|" + spec.dataset;
    };
    CHECK(parts("a.tif") == "a.tif|");
    CHECK(parts("/x/a.h5:/a/b") == "/x/a.h5|/a/b");
    CHECK(parts("a:b.tif") == "a:b.tif|");
    CHECK(parts("a.h5:/") == "a.h5|/");
}

TEST_CASE("the meaning of axes can be set by an option", "[io]") {
    const MemoryFolder folder;
    io::ImageMetadata m;
    m.shape = {3, 4, 5};
    m.type = PixelType::uint16;
    write_image(folder / "a.npy", m, 9);
    const Volume whole = random_volume(m.shape, m.type, 9);

    const auto as_time = io::open_image(folder / "a.npy", {"tyx"});
    CHECK(as_time->metadata().frames == 3);
    CHECK(as_time->metadata().shape == Shape3{1, 4, 5});
    const Volume third = read_channel(*as_time, 2, 0);
    CHECK(std::memcmp(third.view().data, whole.view().at(2, 0, 0), 40) == 0);

    CHECK(contains(refusal<InvalidArgument>(folder / "a.npy", {"XCZ"}), "axes \"XCZ\""));
    CHECK(contains(refusal<InvalidArgument>(folder / "a.npy", {"YX"}), "3×4×5"));
    CHECK(contains(refusal<InvalidArgument>(folder / "a.npy", {"ZZX"}), "one letter"));
}

}  // namespace convolume::testing
