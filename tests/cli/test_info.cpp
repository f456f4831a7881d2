// SPDX-License-Identifier: Apache-2.0
// Tests convolume info, doctor and preview.

#include <limits>
#include <nlohmann/json.hpp>

#include "convolume/engines.hpp"
#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
using nlohmann::json;

namespace {

void write_stack(const TemporaryFolder& folder) {
    Random random(test_seed("info"));
    io::ImageMetadata metadata;
    metadata.channels = 2;
    metadata.voxel_size_um = {0.5, 0.1, 0.1};
    metadata.unit = "um";
    Array first = random.array({5, 20, 30}, false);
    first(0, 0, 0) = std::numeric_limits<double>::quiet_NaN();
    Array second(first.shape);
    second(1, 2, 3) = 1000;
    write_image(folder / "stack.tif", {first, second}, metadata);
}

}  // namespace

TEST_CASE("info prints the metadata of a file") {
    const TemporaryFolder folder;
    write_stack(folder);
    const CommandResult text = testing::convolume({"info", "stack.tif"}, folder);
    CHECK(text.status == 0);
    CHECK(text.err.empty());
    for (const char* words :
         {"ImageJ TIFF", "5×20×30", "float32", "0.5 µm", "channels: 2", "bytes: 24000 "})
        CHECK(contains(text.out, words));
    CHECK_FALSE(contains(text.out, "maximum"));
    CHECK(contains(testing::convolume({"info", "stack.tif", "--stats"}, folder).out,
                   "maximum: 1000"));

    const CommandResult result =
        testing::convolume({"info", "stack.tif", "--json", "--stats"}, folder);
    const json info = json::parse(result.out);
    CHECK(info["format"] == "ImageJ TIFF");
    CHECK(info["shape"] == json{5, 20, 30});
    CHECK(info["channels"] == 2);
    CHECK(info["frames"] == 1);
    CHECK(info["type"] == "float32");
    CHECK(info["voxel_size_um"][0] == 0.5);
    CHECK(info["bytes"] == 24000);
    CHECK(info["stats"]["nan"] == 1);
    CHECK(info["stats"]["max"] == 1000.0);
    const json plain = json::parse(testing::convolume({"info", "stack.tif", "--json"}, folder).out);
    CHECK_FALSE(plain.contains("stats"));

    const CommandResult axes =
        testing::convolume({"info", "stack.tif", "--axes", "TCYX", "--json"}, folder);
    INFO(axes.err);
    CHECK(axes.status == 0);
    CHECK(json::parse(axes.out)["frames"] == 5);
}

TEST_CASE("doctor prints what was built and what the machine has") {
    const TemporaryFolder folder;
    const CommandResult text = testing::convolume({"doctor"}, folder);
    CHECK(text.status == 0);
    CHECK(contains(text.out, "CUDA"));
    const json report = json::parse(testing::convolume({"doctor", "--json"}, folder).out);
    CHECK(report["features"]["NPY"]["present"] == true);
    CHECK(report["features"].contains("TIFF"));
    CHECK(report["features"]["FFT"]["state"] == describe_fft_libraries());
    CHECK(contains(text.out, describe_fft_libraries()));
    CHECK(report["features"].contains("HDF5"));
    CHECK(report["processors"] > 0);
    CHECK(report["host_memory_bytes"] > report["host_memory_available_bytes"]);
    CHECK_FALSE(report["host_memory_limited_by"].get<std::string>().empty());
    CHECK(report["copy_bytes_per_s"] > 1e8);
}

TEST_CASE("doctor says why there is no GPU, or how fast each is") {
    const TemporaryFolder folder;
    const std::string text = testing::convolume({"doctor"}, folder).out;
    const json cuda = json::parse(testing::convolume({"doctor", "--json"}, folder).out)["cuda"];
    const std::string why_not = gpu_unavailable();
    if (!why_not.empty()) {
        CHECK(contains(text, why_not));
        CHECK(cuda["unavailable"] == why_not);
        CHECK(cuda["transfer_gate"].is_null());
        return;
    }
    CHECK(cuda["unavailable"].is_null());
    REQUIRE(cuda["devices"].size() == gpu_devices().size());
    CHECK(cuda["runtime"] == cuda_runtime_version());
    CHECK(cuda["transfer_gate"].is_string());
    for (const json& device : cuda["devices"]) {
        INFO(device);
        CHECK(contains(text, "gpu:" + std::to_string(device["number"].get<int>())));
        if (device["usable"] == false) continue;
        for (const char* way : {"host_to_device", "device_to_host", "both", "device_copy"})
            CHECK(device["bytes_per_s"][way] > 1e8);
    }
}

TEST_CASE("previews show stacks side by side") {
    const TemporaryFolder folder;
    write_stack(folder);
    const auto size_of_picture = [&](Arguments options) {
        Arguments arguments{"preview", "stack.tif", "-o", "p.png", "--overwrite"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const CommandResult result = testing::convolume(arguments, folder);
        INFO(result.err);
        REQUIRE(result.status == 0);
        CHECK(contains(result.err, "p.png"));
        const std::string png = read_text(folder / "p.png");
        REQUIRE(png.substr(1, 3) == "PNG");
        const auto word = [&png](std::size_t at) {
            index_t value = 0;
            for (std::size_t i = 0; i < 4; ++i)
                value = value * 256 + static_cast<unsigned char>(png[at + i]);
            return value;
        };
        return std::pair<index_t, index_t>{word(16), word(20)};
    };
    const auto one = size_of_picture({"--channel", "0"});
    // Without --channel, the picture shows both channels, each scaled by itself.
    CHECK(size_of_picture({}).second > one.second);
    const auto two = size_of_picture({"--after", "stack.tif", "--channel", "1"});
    CHECK(two.first > one.first + 300);
    CHECK(two.second == one.second);
    CHECK(size_of_picture({"--channel", "0", "--scale", "20"}).second > one.second);

    const std::string dark = read_text(folder / "p.png");
    size_of_picture({"--scale", "20", "--gamma", "0.3"});
    CHECK(read_text(folder / "p.png") != dark);
    size_of_picture({"--scale", "20", "--limits", "0,0.1"});
    CHECK(read_text(folder / "p.png") != dark);
    const std::string linear = read_text(folder / "p.png");
    size_of_picture({"--scale", "20", "--slices"});
    const std::string slices = read_text(folder / "p.png");
    CHECK(slices != linear);
    size_of_picture({"--scale", "20", "--slices", "--log", "2"});
    CHECK(read_text(folder / "p.png") != slices);
    const auto four = size_of_picture({"stack.tif", "stack.tif", "--psf", "stack.tif"});
    CHECK(four.first > 4 * 400);
    CHECK(testing::convolume({"preview", "stack.tif", "-o", "p.png"}, folder).status == 5);
    CHECK(testing::convolume({"preview", "stack.tif", "-o", "q.png", "-q"}, folder).err.empty());
}
