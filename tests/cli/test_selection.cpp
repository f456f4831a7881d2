// SPDX-License-Identifier: Apache-2.0
// Tests parts of an image file: channels, times, a box; and a voxel size that the file lacks.

#include <cmath>

#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"
#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

const Shape3 frame_shape{6, 7, 8};
constexpr index_t frames = 3, channels = 2;

/// Returns a value that encodes its position.
float value_at(index_t t, index_t c, index_t z, index_t y, index_t x) {
    return static_cast<float>((((t * 10 + c) * 10 + z) * 10 + y) * 10 + x);
}

struct SelectedImage : TemporaryFolder {
    SelectedImage() {
        io::ImageMetadata metadata;
        metadata.shape = frame_shape;
        metadata.frames = frames;
        metadata.channels = channels;
        metadata.channel_names = {"red", "green"};
        const auto writer = io::create_image(*this / "image.ome.tif", metadata);
        for (index_t t = 0; t < frames; ++t)
            for (index_t c = 0; c < channels; ++c) {
                Volume volume(frame_shape, PixelType::float32);
                for (index_t z = 0; z < frame_shape.z; ++z)
                    for (index_t y = 0; y < frame_shape.y; ++y)
                        for (index_t x = 0; x < frame_shape.x; ++x)
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

TEST_CASE("selection: channels, times and boxes are cut out") {
    const SelectedImage inputs;
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

TEST_CASE("selection: channels may be in another order, and one time alone") {
    const SelectedImage inputs;
    const CommandResult result = inputs.run({"--channel", "1,0", "--frame", "2"});
    INFO(result.err);
    REQUIRE(result.status == 0);
    const auto reader = io::open_image(inputs / "out.ome.tif");
    CHECK(reader->metadata().frames == 1);
    CHECK(reader->metadata().channel_names == std::vector<std::string>{"green", "red"});
    Volume volume(frame_shape, PixelType::float32);
    reader->read(0, 1, volume.view());
    CHECK(volume.elements<float>()[9] == Approx(value_at(2, 0, 0, 1, 1)));
}

TEST_CASE("selection: parts that the image lacks are refused") {
    const SelectedImage inputs;
    for (const Arguments& options :
         {Arguments{"--channel", "2"}, Arguments{"--channel", "blue"}, Arguments{"--channel", "-1"},
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

TEST_CASE("selection: positions of NaN are counted in the file") {
    const TemporaryFolder folder;
    const auto write = [&](const std::string& name, io::ImageMetadata metadata, index_t t,
                           index_t c, const Index3& at) {
        metadata.type = PixelType::float32;
        const auto writer = io::create_image(folder / name, metadata);
        for (index_t frame = 0; frame < metadata.frames; ++frame)
            for (index_t channel = 0; channel < metadata.channels; ++channel) {
                Volume volume(metadata.shape, PixelType::float32);
                std::fill_n(volume.elements<float>(), element_count(metadata.shape), 2.0F);
                if (frame == t && channel == c)
                    *static_cast<float*>(volume.view().at(at.z, at.y, at.x)) = NAN;
                writer->write(frame, channel, volume.view());
            }
        writer->commit();
    };
    io::ImageMetadata several;
    several.shape = {6, 20, 22};
    several.frames = frames;
    several.channels = channels;
    write("several.ome.tif", several, 2, 1, {4, 15, 16});
    io::ImageMetadata one;
    one.shape = several.shape;
    write("one.npy", one, 0, 0, {4, 15, 16});
    io::ImageMetadata kernel;
    kernel.shape = {1, 3, 3};
    write("kernel.npy", kernel, -1, 0, {});
    write("bad_kernel.npy", kernel, 0, 0, {0, 2, 1});

    const std::string in_file = "in frame 2, channel 1 (from 0): ", place = "z,y,x = 4,15,16";
    const Arguments parts[] = {{},
                               {"--frame", "1:3", "--channel", "1"},
                               {"--frame", "2", "--channel", "1,0", "--crop", "2:6,10:20,10:22"},
                               {"--crop", "4:5,15:16,16:17", "--channel", "1", "--frame", "2"}};
    const std::vector<Arguments> commands{
        {"convolve"},
        {"convolve", "--kernel-for", "1=kernel.npy"},
        {"convolve", "--operation", "adjoint", "--boundary", "nearest"},
        {"convolve", "--method", "dif"},
        {"convolve", "--method", "tiled"},
        {"deconvolve", "--iterations", "1"},
        {"simulate"}};
    const auto refusal = [&](Arguments arguments, const std::string& image, const Arguments& more,
                             const std::string& psf = "kernel.npy") {
        arguments.insert(arguments.begin() + 1, {image, psf});
        arguments.insert(arguments.end(), more.begin(), more.end());
        arguments.push_back("-q");
        const CommandResult result = testing::convolume(arguments, folder);
        INFO(result.err);
        CHECK(result.status == 65);
        return result.err;
    };
    for (const Arguments& command : commands)
        for (const Arguments& part : parts) {
            Arguments of_file = part;
            of_file.insert(of_file.end(), {"-o", "out.ome.tif"});
            const std::string said = refusal(command, "several.ome.tif", of_file);
            INFO(command[0] << ' ' << command.back() << ": " << said);
            CHECK(contains(said, in_file));
            CHECK(contains(said, place));
        }
    for (const std::string command : {"convolve", "deconvolve", "simulate"}) {
        const std::string said =
            refusal({command}, "one.npy", {"--crop", "3:,5:,6:", "-o", "o.npy"});
        CHECK(contains(said, place));
        CHECK_FALSE(contains(said, "frame"));
        // Positions in kernels are reported in the same way, before anything is computed.
        CHECK(contains(refusal({command}, "one.npy", {"--psf-background", "1", "-o", "o.npy"},
                               "bad_kernel.npy"),
                       "the kernel \"bad_kernel.npy\" holds nan at z,y,x = 0,2,1"));
        // Positions are also right for many files, which share a plan.
        const CommandResult many =
            testing::convolume({command, "one.npy", "several.ome.tif", "kernel.npy", "--output-dir",
                                command, "--crop", "3:,5:,6:", "-q"},
                               folder);
        CHECK(contains(many.err, "error: one.npy: the image holds nan at " + place));
        CHECK(contains(many.err, "error: several.ome.tif: " + in_file));
    }
    const CommandResult compared = testing::convolume(
        {"compare", "several.ome.tif", "kernel.npy", "--frame", "2", "--channel", "1", "--crop",
         "3:,5:,6:", "-o", "report", "--methods", "direct", "--devices", "cpu", "--repeats", "1"},
        folder);
    INFO(compared.err << compared.out);
    CHECK(contains(compared.err + compared.out, in_file));
    CHECK(contains(compared.err + compared.out, place));
}

TEST_CASE("selection: an unlikely voxel size gets a warning") {
    const SelectedImage inputs;
    const CommandResult tiny = inputs.run({"--voxel", "0.2,0.1,0.1nm"});
    INFO(tiny.err);
    CHECK(tiny.status == 0);
    CHECK(contains(tiny.err, "--voxel 0.2,0.1,0.1nm means voxels of 0.0002 × 0.0001 × 0.0001 µm"));
    CHECK(contains(tiny.err, "did you mean --voxel 0.2,0.1,0.1um?"));
    CHECK_FALSE(contains(inputs.run({"--voxel", "0.2,0.1,0.1um"}).err, "warning"));
    const std::string other_order = inputs.run({"--voxel", "0.1,0.1,0.2um"}).err;
    CHECK(contains(other_order, "did you mean --voxel 0.2,0.1,0.1um?"));
    CHECK(other_order.find("warning") == other_order.rfind("warning"));
    const CommandResult psf =
        testing::convolume({"psf", "--na", "0.5", "--wavelength", "520nm", "--voxel",
                            "0.3,0.1,0.1nm", "--size", "3,3,3", "-o", "psf.tif"},
                           inputs);
    CHECK(contains(psf.err, "did you mean --voxel 0.3,0.1,0.1um?"));
}
