// SPDX-License-Identifier: Apache-2.0
// Checks that metadata are kept by convolution, in every format; channels and time points are
// convolved one by one.

#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

const Shape3 shape{6, 14, 12};

struct Hyperstack : TemporaryFolder {
    std::vector<Array> volumes;
    Array kernel;
    io::ImageMetadata metadata;

    explicit Hyperstack(const std::string& name) {
        Random random(test_seed("hyperstack"));
        metadata.frames = 3;
        metadata.channels = 2;
        metadata.type = PixelType::uint16;
        metadata.voxel_size_um = {0.3, 0.11, 0.12};
        metadata.unit = "um";
        metadata.frame_interval_s = 2.5;
        for (int i = 0; i < 6; ++i) volumes.push_back(random.integers(shape, 0, 65535));
        kernel = random.array({3, 3, 5}, false, 1);
        write_image(*this / name, volumes, metadata);
        io::ImageMetadata kernel_metadata;
        kernel_metadata.voxel_size_um = metadata.voxel_size_um;
        kernel_metadata.unit = "um";
        write_image(*this / "kernel.tif", {kernel}, kernel_metadata);
    }
};

void check_kept(const std::string& input, const std::string& output) {
    const Hyperstack stack(input);
    const CommandResult result = testing::convolume(
        {"convolve", input, "kernel.tif", "-o", output, "--mode", "full"}, stack);
    INFO(result.err);
    REQUIRE(result.status == 0);
    CHECK_FALSE(contains(result.err, "warning"));
    const ImageFile got = read_image(stack / output);
    CHECK(got.metadata.frames == 3);
    CHECK(got.metadata.channels == 2);
    CHECK(got.metadata.shape == Shape3{8, 16, 16});
    CHECK(got.metadata.type == PixelType::float32);
    for (std::size_t axis = 0; axis < 3; ++axis) {
        REQUIRE(got.metadata.voxel_size_um[axis].has_value());
        CHECK(std::abs(*got.metadata.voxel_size_um[axis] - *stack.metadata.voxel_size_um[axis]) <
              1e-6);
    }
    REQUIRE(got.metadata.frame_interval_s.has_value());
    CHECK(std::abs(*got.metadata.frame_interval_s - 2.5) < 1e-9);
    for (std::size_t i = 0; i < 6; ++i) {
        const Array wanted = scaled(oracle_convolve(stack.volumes[i], stack.kernel, {Mode::full}),
                                    1 / sum_of(stack.kernel).real());
        const Comparison comparison = compare(wanted, got.volumes.at(i));
        INFO("volume " << i << ": " << comparison.report);
        CHECK(comparison.within(Precision::float32));
    }
}

}  // namespace

TEST_CASE("ImageJ hyperstacks keep their metadata") {
    check_kept("in.tif", "out.tif");
}

TEST_CASE("OME-TIFF keeps its metadata") {
    check_kept("in.ome.tif", "out.ome.tif");
}

TEST_CASE("HDF5 keeps its metadata") {
    try {
        check_kept("in.h5:/stack", "out.h5:/deep/result");
    } catch (const Unavailable& error) {
        SKIP(error.what());
    }
}

TEST_CASE("metadata are kept from one format to another") {
    check_kept("in.tif", "out.ome.tif");
}
