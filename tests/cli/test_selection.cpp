// SPDX-License-Identifier: Apache-2.0
// Parts of an image file: channels, times, a box, and a voxel size that the file does not give.

#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"
#include "tests/catch.hpp"
#include "tests/cli/command.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

const Shape3 shape{6, 7, 8};
constexpr index_t frames = 3, channels = 2;

/// Says where it is from.
float value_at(index_t t, index_t c, index_t z, index_t y, index_t x) {
    return static_cast<float>((((t * 10 + c) * 10 + z) * 10 + y) * 10 + x);
}

struct Inputs : TemporaryFolder {
    Inputs() {
        io::ImageMetadata metadata;
        metadata.shape = shape;
        metadata.frames = frames;
        metadata.channels = channels;
        metadata.channel_names = {"red", "green"};
        const auto writer = io::create_image(*this / "image.ome.tif", metadata);
        for (index_t t = 0; t < frames; ++t)
            for (index_t c = 0; c < channels; ++c) {
                Volume volume(shape, PixelType::float32);
                for (index_t z = 0; z < shape.z; ++z)
                    for (index_t y = 0; y < shape.y; ++y)
                        for (index_t x = 0; x < shape.x; ++x)
                            *static_cast<float*>(volume.view().at(z, y, x)) =
                                value_at(t, c, z, y, x);
                writer->write(t, c, volume.view());
            }
        writer->commit();

        metadata.frames = metadata.channels = 1;
        metadata.channel_names.clear();
        metadata.shape = {1, 1, 1};
        Volume one(metadata.shape, PixelType::float32);
        one.elements<float>()[0] = 1;
        const auto kernel = io::create_image(*this / "one.npy", metadata);
        kernel->write(0, 0, one.view());
        kernel->commit();
    }

    CommandResult run(const Arguments& options) const {
        Arguments arguments{"convolve",    "image.ome.tif", "one.npy", "-o",
                            "out.ome.tif", "--overwrite",   "-q"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        return testing::convolume(arguments, *this);
    }
};

}  // namespace

TEST_CASE("selection: channels, times and boxes") {
    const Inputs inputs;
    const CommandResult result = inputs.run(
        {"--channel", "1", "--frame", "1:3", "--crop", "2:5,:,3:4", "--voxel", "300,100,100nm"});
    INFO(result.err);
    REQUIRE(result.status == 0);
    const auto reader = io::open_image(inputs / "out.ome.tif");
    const io::ImageMetadata& metadata = reader->metadata();
    CHECK(metadata.shape == Shape3{3, 7, 1});
    CHECK(metadata.frames == 2);
    CHECK(metadata.channels == 1);
    CHECK(metadata.channel_names == std::vector<std::string>{"green"});
    CHECK(metadata.voxel_size_um[0].value_or(0) == Approx(0.3));
    CHECK(metadata.voxel_size_um[2].value_or(0) == Approx(0.1));
    Volume volume(metadata.shape, PixelType::float32);
    for (index_t t = 0; t < 2; ++t) {
        reader->read(t, 0, volume.view());
        for (index_t z = 0; z < 3; ++z)
            for (index_t y = 0; y < 7; ++y)
                CHECK(*static_cast<const float*>(volume.view().at(z, y, 0)) ==
                      Approx(value_at(t + 1, 1, z + 2, y, 3)));
    }
}

TEST_CASE("selection: channels in another order, one time") {
    const Inputs inputs;
    const CommandResult result = inputs.run({"--channel", "1,0", "--frame", "2"});
    INFO(result.err);
    REQUIRE(result.status == 0);
    const auto reader = io::open_image(inputs / "out.ome.tif");
    CHECK(reader->metadata().frames == 1);
    CHECK(reader->metadata().channel_names == std::vector<std::string>{"green", "red"});
    Volume volume(shape, PixelType::float32);
    reader->read(0, 1, volume.view());
    CHECK(volume.elements<float>()[9] == Approx(value_at(2, 0, 0, 1, 1)));
}

TEST_CASE("selection: what the image does not have is refused") {
    const Inputs inputs;
    for (const Arguments& options :
         {Arguments{"--channel", "2"}, Arguments{"--channel", "red"}, Arguments{"--channel", "-1"},
          Arguments{"--frame", "3"}, Arguments{"--frame", "2:2"}, Arguments{"--frame", "0:4"},
          Arguments{"--crop", "0:7,:,:"}, Arguments{"--crop", "0:1,:"},
          Arguments{"--crop", "3:2,:,:"}, Arguments{"--crop", "1,2,3"},
          Arguments{"--voxel", "1,1,1"}}) {
        const CommandResult result = inputs.run(options);
        INFO(options[0] << " " << options[1] << ": " << result.err);
        CHECK(result.status == 2);
        CHECK(result.err.find(options[0]) != std::string::npos);
        CHECK(inputs.names() == std::vector<std::string>{"image.ome.tif", "one.npy"});
    }
}
