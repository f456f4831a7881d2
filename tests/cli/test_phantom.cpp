// SPDX-License-Identifier: Apache-2.0
// Tests `convolume phantom`: it writes the library's phantom, with bounded memory.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "convolume/phantom.hpp"
#include "convolume/volume.hpp"
#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

CommandResult make_phantom(const TemporaryFolder& folder, Arguments options) {
    options.insert(options.begin(), "phantom");
    return testing::convolume(options, folder);
}

}  // namespace

TEST_CASE("the command writes the library's phantom and its objects") {
    const TemporaryFolder folder;
    const CommandResult result = make_phantom(folder, {"-o",
                                                       "p.ome.tif",
                                                       "--kind",
                                                       "shells",
                                                       "--size",
                                                       "20,40,50",
                                                       "--voxel",
                                                       "300,120,110nm",
                                                       "--seed",
                                                       "9",
                                                       "--count",
                                                       "5",
                                                       "--radius",
                                                       "800nm",
                                                       "--brightness",
                                                       "70",
                                                       "--brightness-spread",
                                                       "0.1",
                                                       "--background",
                                                       "4",
                                                       "--objects",
                                                       "objects.json",
                                                       "--json",
                                                       "-q"});
    INFO(result.err);
    REQUIRE(result.status == 0);
    CHECK(result.err.find("pixels that are not square") != std::string::npos);

    PhantomOptions options;
    options.kind = PhantomKind::shells;
    options.shape = {20, 40, 50};
    options.voxel = {0.3, 0.12, 0.11};
    options.seed = 9;
    options.count = 5;
    options.radius_um = 0.8;
    options.brightness = 70;
    options.brightness_spread = 0.1;
    options.background = 4;
    const Phantom phantom(options);
    Volume expected(options.shape, PixelType::float32);
    phantom.draw(0, expected.view());
    const ImageFile file = read_image(folder / "p.ome.tif");
    CHECK(file.only().values == to_array(expected.view()).values);
    for (std::size_t axis = 0; axis < 3; ++axis)
        CHECK(std::abs(file.metadata.voxel_size_um[axis].value() -
                       options.voxel[static_cast<int>(axis)]) < 1e-6);

    const auto list = nlohmann::json::parse(read_text(folder / "objects.json"));
    REQUIRE(list["objects"].size() == 5);
    for (std::size_t i = 0; i < 5; ++i) {
        const PhantomObject& object = phantom.objects()[i];
        const auto& json = list["objects"][i];
        CHECK(json["kind"] == "shells");
        for (std::size_t axis = 0; axis < 3; ++axis) {
            CHECK(json["center_um"][axis] == object.center_um[axis]);
            CHECK(json["center_voxels"][axis] ==
                  object.center_um[axis] / options.voxel[static_cast<int>(axis)]);
        }
        CHECK(json["radius_um"] == object.radius_um);
        CHECK(json["brightness"] == object.brightness);
    }
    const auto answer = nlohmann::json::parse(result.out);
    CHECK(answer["count"] == 5);
    CHECK(answer["output"]["type"] == "float32");
    CHECK(answer["clamped_high"] == 0);
}

TEST_CASE("phantoms of 16 bits are rounded, and clamped values are reported") {
    const TemporaryFolder folder;
    const Arguments common{"--kind", "cells", "--size", "10,40,40", "--overwrite"};
    const auto with = [&](Arguments more) {
        more.insert(more.begin(), common.begin(), common.end());
        return make_phantom(folder, more);
    };
    REQUIRE(with({"-o", "f.npy"}).status == 0);
    REQUIRE(with({"-o", "i.npy", "--type", "uint16"}).status == 0);
    const Array exact = read_image(folder / "f.npy").only();
    const ImageFile rounded = read_image(folder / "i.npy");
    CHECK(rounded.metadata.type == PixelType::uint16);
    double worst = 0;
    for (std::size_t i = 0; i < exact.values.size(); ++i)
        worst = std::max(worst, std::abs(exact.values[i] - rounded.only().values[i]));
    CHECK(worst <= 0.5);
    CHECK(worst > 0.3);
    const CommandResult clamped =
        with({"-o", "i.npy", "--type", "uint16", "--brightness", "1e6", "-q"});
    CHECK(clamped.status == 0);
    CHECK(contains(clamped.err, "clamped"));
}

TEST_CASE("a phantom needs the memory of a few planes") {
    const TemporaryFolder folder;
    // The phantom has 250 MiB, a plane 1 MiB.
    const CommandResult result =
        make_phantom(folder, {"-o", "large.npy", "--kind", "beads", "--count", "50", "--size",
                              "250,512,512", "--json", "-q"});
    INFO(result.err);
    REQUIRE(result.status == 0);
    CHECK(nlohmann::json::parse(result.out)["report"]["peak_buffer_bytes"] <= 64 << 20);
}

TEST_CASE("phantoms that cannot be written are refused in one sentence") {
    const TemporaryFolder folder;
    write_text(folder / "there.tif", "precious");
    const auto refused = [&](int status, const std::string& names, Arguments options) {
        const CommandResult result = make_phantom(folder, options);
        INFO(result.err);
        CHECK(result.status == status);
        CHECK(contains(result.err, names));
        CHECK(result.err.find('\n') == result.err.size() - 1);
        CHECK(folder.names() == std::vector<std::string>{"there.tif"});
    };
    refused(2, "--output", {});
    refused(5, "--overwrite", {"-o", "there.tif"});
    refused(2, "two outputs", {"-o", "a.tif", "--objects", "a.tif"});
    refused(2, "shells", {"-o", "a.tif", "--kind", "spheres"});
    refused(2, "three values", {"-o", "a.tif", "--size", "10,20"});
    refused(2, "unit", {"-o", "a.tif", "--voxel", "200,100,100"});
    refused(2, "voxels have positive sizes", {"-o", "a.tif", "--voxel", "0,100,100nm"});
    refused(2, "--seed", {"-o", "a.tif", "--seed", "x"});
    refused(2, "number of objects", {"-o", "a.tif", "--count", "-1"});
    refused(2, "mixed", {"-o", "a.tif", "--radius", "1um"});
    refused(2, "uint16", {"-o", "a.tif", "--type", "uint8"});
    refused(2, "--threads", {"-o", "a.tif", "--threads", "0"});
    refused(2, "brightness", {"-o", "a.tif", "--brightness", "-5"});
    refused(2, "give 0 to 1e30", {"-o", "a.tif", "--brightness", "1e300"});
}

TEST_CASE("a large phantom needs little memory") {
    const TemporaryFolder folder;
    for (const Arguments& format :
         {Arguments{"-o", "p.tif"}, Arguments{"-o", "p.tif", "--type", "uint16"},
          Arguments{"-o", "p.ome.tif", "--type", "uint16", "--compression", "lzw"}}) {
        Arguments options = format;
        options.insert(options.end(), {"--size", "150,640,640", "--kind", "beads", "--count", "40",
                                       "--json", "-q", "--overwrite"});
        const CommandResult result = make_phantom(folder, options);
        INFO(result.err);
        REQUIRE(result.status == 0);
        const auto report = nlohmann::json::parse(result.out);
        // As float32 the phantom has 234 MiB.
        CHECK(report["report"]["peak_buffer_bytes"] <= index_t{66} << 20);
        CHECK(report["report"]["peak_resident_bytes"] <= index_t{140} << 20);
        if (format[1] != "p.tif" || format.size() > 2) continue;
        PhantomOptions asked;
        asked.kind = PhantomKind::beads;
        asked.shape = {150, 640, 640};
        asked.count = 40;
        const Phantom phantom(asked);
        const auto reader = io::open_image(folder / "p.tif");
        Volume drawn({3, 640, 640}, PixelType::float32), read(drawn.shape(), drawn.type());
        for (const index_t z : {0, 19, 38, 147}) {
            phantom.draw(z, drawn.view());
            reader->read_planes(0, 0, z, read.view());
            CHECK(std::equal(drawn.elements<float>(),
                             drawn.elements<float>() + element_count(drawn.shape()),
                             read.elements<float>()));
        }
    }
}
