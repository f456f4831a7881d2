// SPDX-License-Identifier: Apache-2.0
// Tests a kernel for each channel: results equal those of separate runs.

#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

constexpr index_t frames = 2, channels = 3;

struct Channels : TemporaryFolder {
    Channels() {
        Random random(test_seed("channels"));
        io::ImageMetadata metadata;
        metadata.frames = frames;
        metadata.channels = channels;
        metadata.channel_names = {"DAPI", "GFP", "488"};
        std::vector<Array> volumes;
        for (index_t i = 0; i < frames * channels; ++i)
            volumes.push_back(random.array({6, 8, 7}, false, 1));
        write_image(*this / "image.ome.tif", volumes, metadata);
        write_image(*this / "a.npy", random.array({3, 3, 3}, false, 1), PixelType::float32);
        write_image(*this / "b.npy", random.array({3, 5, 3}, false, 1), PixelType::float32);
        write_image(*this / "rest.npy", random.array({1, 3, 3}, false, 1), PixelType::float32);
    }

    ImageFile run(const Arguments& arguments, const std::string& output) const {
        Arguments all = arguments;
        all.insert(all.end(), {"-o", output, "--overwrite", "-q"});
        const CommandResult result = testing::convolume(all, *this);
        INFO(result.err);
        REQUIRE(result.status == 0);
        return read_image(*this / output);
    }
};

void check_channel(const ImageFile& all, index_t channel, index_t channels_of_all,
                   const ImageFile& alone) {
    REQUIRE(alone.volumes.size() == static_cast<std::size_t>(frames));
    for (index_t t = 0; t < frames; ++t)
        CHECK(all.volumes.at(static_cast<std::size_t>(t * channels_of_all + channel)).values ==
              alone.volumes[static_cast<std::size_t>(t)].values);
}

}  // namespace

TEST_CASE("each channel is convolved with its kernel") {
    const Channels folder;
    // The camera's noise depends on the position in the file, so runs are compared without noise.
    const Arguments commands[] = {
        {"convolve"},
        {"convolve", "--precision", "float64", "--operation", "adjoint", "--boundary", "mirror"},
        {"deconvolve", "--iterations", "3"},
        {"deconvolve", "--method", "wiener", "--iterations", "3"},
        {"simulate", "--no-noise", "--photons-per-unit", "20"}};
    for (const Arguments& command : commands) {
        INFO(command[0]);
        const auto with = [&](const Arguments& more) {
            Arguments all = command;
            all.insert(all.end(), more.begin(), more.end());
            return all;
        };
        const ImageFile all = folder.run(
            with({"image.ome.tif", "--psf-for", "0=a.npy,2=b.npy", "rest.npy"}), "all.ome.tif");
        const char* const kernels[] = {"a.npy", "rest.npy", "b.npy"};
        for (index_t c = 0; c < channels; ++c)
            check_channel(
                all, c, channels,
                folder.run(with({"image.ome.tif", kernels[c], "--channel", std::to_string(c)}),
                           "one.ome.tif"));
        // A channel keeps its kernel if only some channels are selected, in any order.
        const ImageFile chosen =
            folder.run(with({"image.ome.tif", "--channel", "2,0", "--psf-for", "0=a.npy,2=b.npy"}),
                       "chosen.ome.tif");
        for (index_t t = 0; t < frames; ++t) {
            const auto frame = static_cast<std::size_t>(t);
            CHECK(chosen.volumes[2 * frame].values == all.volumes[3 * frame + 2].values);
            CHECK(chosen.volumes[2 * frame + 1].values == all.volumes[3 * frame].values);
        }
    }
}

TEST_CASE("reports name the kernels of the channels") {
    const Channels folder;
    const CommandResult result = testing::convolume(
        {"convolve", "image.ome.tif", "rest.npy", "--psf-for", "1=a.npy", "--dry-run", "--json"},
        folder);
    INFO(result.err);
    CHECK(result.status == 0);
    CHECK(contains(result.err, "channel 0, 2"));
    const auto json = nlohmann::json::parse(result.out);
    CHECK(json["kernel"][0]["for_channels"] == nlohmann::json{0, 2});
    CHECK(json["kernel"][1]["file"] == "a.npy");
    CHECK(json["plan"].size() == 2);
}

TEST_CASE("mistakes in kernels of channels get one sentence") {
    const Channels folder;
    const auto refuse = [&](const Arguments& more, int status, const char* names) {
        Arguments all{"convolve", "image.ome.tif", "-o", "out.tif"};
        all.insert(all.end(), more.begin(), more.end());
        const CommandResult result = testing::convolume(all, folder);
        INFO(result.err);
        CHECK(result.status == status);
        CHECK(contains(result.err, names));
        CHECK(result.err.find('\n') == result.err.size() - 1);
    };
    refuse({"--psf-for", "0=a.npy,2=b.npy"}, 2, "channel 1");
    refuse({"rest.npy", "--psf-for", "3=a.npy"}, 2, "0 (DAPI), 1 (GFP), 2 (488)");
    refuse({"rest.npy", "--psf-for", "0=a.npy,0=b.npy"}, 2, "twice");
    refuse({"rest.npy", "--psf-for", "a.npy"}, 2, "rest.npy");
    refuse({"--psf", "a.npy", "--psf", "b.npy"}, 2, "has 3 channels, but 2 kernels");
    refuse({"a.npy", "b.npy"}, 2, "--output-dir");
    refuse({"rest.npy", "--psf", "Cy5=a.npy"}, 2, "0 (DAPI), 1 (GFP), 2 (488)");
    refuse({"rest.npy", "--channel", "Cy5"}, 2, "0 (DAPI), 1 (GFP), 2 (488)");
    refuse({"--psf", "a.npy", "--psf", "b.npy", "--psf", "GFP=b.npy"}, 2, "DAPI=a.tif");
    refuse({"rest.npy", "--psf-for", "0="}, 2, "0=a.tif");
    refuse({"rest.npy", "--psf-for", "0=no.npy"}, 66, "no.npy");
    refuse({"rest.npy", "--psf-for", "0=*.npy"}, 2, "pattern");
    refuse({"rest.npy", "--psf-for", "1=b.npy", "--mode", "full"}, 2, "--mode same");
}

TEST_CASE("kernels of channels may be named in several ways") {
    const Channels folder;
    const Arguments ways[] = {{"a.npy", "rest.npy", "b.npy"},
                              {"--psf", "a.npy", "--psf", "rest.npy", "--psf", "b.npy"},
                              {"-p", "GFP=rest.npy", "-p", "488=b.npy", "-p", "dapi=a.npy"},
                              {"--psf", "DAPI=a.npy,2=b.npy", "--psf", "rest.npy"},
                              {"--kernel", "0=a.npy", "--kernel", "2=b.npy", "rest.npy"}};
    const ImageFile wanted = folder.run(
        {"convolve", "image.ome.tif", "--psf-for", "0=a.npy,2=b.npy", "rest.npy"}, "a.ome.tif");
    for (const Arguments& way : ways) {
        Arguments all{"convolve", "image.ome.tif"};
        all.insert(all.end(), way.begin(), way.end());
        const ImageFile found = folder.run(all, "b.ome.tif");
        for (std::size_t i = 0; i < found.volumes.size(); ++i)
            CHECK(found.volumes[i].values == wanted.volumes[i].values);
    }
}

TEST_CASE("channels are chosen by name") {
    const Channels folder;
    const ImageFile by_number =
        folder.run({"convolve", "image.ome.tif", "a.npy", "--channel", "2,1"}, "a.ome.tif");
    for (const char* names : {"488,GFP", "2,gfp"}) {
        const ImageFile by_name =
            folder.run({"convolve", "image.ome.tif", "a.npy", "--channel", names}, "b.ome.tif");
        CHECK(by_name.metadata.channel_names == std::vector<std::string>{"488", "GFP"});
        for (std::size_t i = 0; i < by_number.volumes.size(); ++i)
            CHECK(by_name.volumes[i].values == by_number.volumes[i].values);
    }
    succeed({"preview", "image.ome.tif", "--channel", "GFP", "-o", "a.png"}, folder);
    succeed({"preview", "image.ome.tif", "--channel", "1", "-o", "b.png"}, folder);
    CHECK(read_text(folder / "a.png") == read_text(folder / "b.png"));
}

TEST_CASE("kernels are never processed as images by surprise") {
    const Channels folder;
    const auto refuse = [&](const Arguments& arguments, int status, const char* names) {
        const CommandResult result = testing::convolume(arguments, folder);
        INFO(result.err);
        CHECK(result.status == status);
        CHECK(contains(result.err, names));
        CHECK(!std::filesystem::exists(folder / "out/a.npy"));
    };
    for (const char* command : {"convolve", "deconvolve"}) {
        refuse({command, "image.ome.tif", "a.npy", "b.npy", "rest.npy", "--output-dir", "out"}, 2,
               "give -o");
        refuse({command, "image.ome.tif", "a.npy", "b.npy", "rest.npy"}, 2, "-o OUT");
        refuse({command, "image.ome.tif", "a.npy", "new.tif"}, 66, "-o \"new.tif\"");
        refuse({command, "image.ome.tif", "b.npy", "--psf", "a.npy", "-o", "c.tif"}, 2, "b.npy");
    }
}

TEST_CASE("many files may have a kernel for each channel") {
    const Channels folder;
    std::filesystem::copy(folder / "image.ome.tif", folder / "second.ome.tif");
    const CommandResult result =
        testing::convolume({"convolve", "image.ome.tif", "second.ome.tif", "--psf-for",
                            "0=a.npy,2=b.npy", "rest.npy", "--output-dir", "out"},
                           folder);
    INFO(result.err);
    CHECK(result.status == 0);
    CHECK(contains(result.err, "2 of 2 have this plan"));
    const ImageFile alone = folder.run(
        {"convolve", "image.ome.tif", "rest.npy", "--psf-for", "0=a.npy,2=b.npy"}, "alone.ome.tif");
    for (const char* name : {"out/image.ome.tif", "out/second.ome.tif"}) {
        const ImageFile found = read_image(folder / name);
        for (std::size_t i = 0; i < found.volumes.size(); ++i)
            CHECK(found.volumes[i].values == alone.volumes[i].values);
    }
}
