// SPDX-License-Identifier: Apache-2.0
// Tests kernels with other voxel sizes and with other centers.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

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

using Voxel = std::array<double, 3>;

void write_stack(const std::string& path, const Array& array, const Voxel& voxel_um) {
    io::ImageMetadata metadata;
    metadata.type = PixelType::float32;
    metadata.voxel_size_um = {voxel_um[0], voxel_um[1], voxel_um[2]};
    metadata.unit = "um";
    write_image(path, {array}, metadata);
}

/// Returns a Gaussian of standard deviation 0.4 µm along z and 0.2 µm along y and x, about
/// `center`.
Array gaussian(const Shape3& shape, const Index3& center, const Voxel& voxel_um) {
    constexpr double sigma_um[] = {0.4, 0.2, 0.2};
    Array array(shape);
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                const Index3 at{z, y, x};
                double share = 1;
                for (int a = 0; a < 3; ++a) {
                    const double scale =
                        voxel_um[static_cast<std::size_t>(a)] / (std::sqrt(2.0) * sigma_um[a]);
                    const auto edge = [&](double half) {
                        return std::erf((static_cast<double>(at[a] - center[a]) + half) * scale);
                    };
                    share *= 0.5 * (edge(0.5) - edge(-0.5));
                }
                array(z, y, x) = share;
            }
    return array;
}

constexpr Voxel image_voxel_um{0.3, 0.1, 0.1};

/// An image of one point, and kernels with the image's voxels and with finer voxels.
struct Stacks : TemporaryFolder {
    const Shape3 shape{20, 40, 41};
    Array image{shape};

    Stacks() {
        image(9, 21, 18) = 5;
        image(3, 30, 7) = 2;
        write_stack(*this / "image.tif", image, image_voxel_um);
        write_stack(*this / "finer.tif", gaussian({25, 37, 36}, {12, 18, 18}, {0.2, 0.07, 0.07}),
                    {0.2, 0.07, 0.07});
    }
    CommandResult run(Arguments options) const {
        Arguments arguments{"convolve", "image.tif", "finer.tif", "-o", "out.tif", "--overwrite"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        return testing::convolume(arguments, *this);
    }
    /// Returns the largest difference from `wanted`, relative to its maximum.
    double error_against(const Array& wanted) const {
        const Array got = read_image(*this / "out.tif").only();
        REQUIRE(got.shape == wanted.shape);
        double worst = 0, highest = 0;
        for (std::size_t i = 0; i < wanted.values.size(); ++i) {
            worst = std::max(worst, std::abs(got.values[i] - wanted.values[i]));
            highest = std::max(highest, std::abs(wanted.values[i]));
        }
        return worst / highest;
    }
};

}  // namespace

TEST_CASE("a kernel with finer voxels blurs like one with the image's voxels") {
    const Stacks stacks;
    const CommandResult result = stacks.run({"--json"});
    INFO(result.err);
    REQUIRE(result.status == 0);
    CHECK_FALSE(contains(result.err, "warning"));
    CHECK(contains(result.err, "resampled"));
    const Array kernel = gaussian({17, 27, 27}, {8, 13, 13}, image_voxel_um);
    CHECK(stacks.error_against(oracle_convolve(
              stacks.image, kernel, {Mode::same, {}, Operation::convolve, {8, 13, 13}})) < 2e-3);

    const auto json = nlohmann::json::parse(result.out).at("kernel");
    CHECK(json.at("shape") == nlohmann::json({25, 37, 36}));
    CHECK(json.at("center") == nlohmann::json({12, 18, 18}));
    // 12.5 voxels of 0.2 µm on either side reach into the 9th of 0.3 µm; 17.5 of 0.07 to the right.
    CHECK(json.at("resampled").at("shape") == nlohmann::json({17, 27, 26}));
    CHECK(json.at("resampled").at("center") == nlohmann::json({8, 13, 13}));
}

TEST_CASE("kernels of other voxel sizes can be refused, or used without resampling") {
    const Stacks stacks;
    const CommandResult refused = stacks.run({"--psf-resample", "never"});
    CHECK(refused.status == 2);
    CHECK(contains(refused.err, "0.3×0.1×0.1 µm"));
    CHECK(contains(refused.err, "0.2×0.07×0.07 µm"));
    CHECK(contains(refused.err, "finer.tif"));
    CHECK(stacks.names() == std::vector<std::string>{"finer.tif", "image.tif"});

    const CommandResult ignored = stacks.run({"--psf-resample", "ignore", "-q"});
    CHECK(ignored.status == 0);
    CHECK(contains(ignored.err, "warning: voxel sizes differ"));
    const Array kernel = gaussian({25, 37, 36}, {12, 18, 18}, {0.2, 0.07, 0.07});
    const double sum = sum_of(kernel).real();
    CHECK(stacks.error_against(
              scaled(oracle_convolve(stacks.image, kernel,
                                     {Mode::same, {}, Operation::convolve, {12, 18, 18}}),
                     1 / sum)) < 1e-5);

    CHECK(stacks.run({"--psf-resample", "perhaps"}).status == 2);
}

TEST_CASE("a kernel is not resampled if voxel sizes agree or are unknown") {
    const Stacks stacks;
    const Array kernel = gaussian({5, 9, 9}, {2, 4, 4}, image_voxel_um);
    write_stack(stacks / "rounded.tif", kernel, {0.30001, 0.1, 0.099999});
    write_stack(stacks / "flat.tif", gaussian({1, 9, 9}, {0, 4, 4}, image_voxel_um), {1, 0.1, 0.1});
    write_image(stacks / "silent.npy", kernel, PixelType::float32);
    for (const char* name : {"rounded.tif", "flat.tif", "silent.npy"}) {
        INFO(name);
        const CommandResult result = testing::convolume(
            {"convolve", "image.tif", name, "--dry-run", "--psf-resample", "never"}, stacks);
        CHECK(result.status == 0);
        CHECK_FALSE(contains(result.err, "resampled"));
    }
}

TEST_CASE("kernels are centered on their peak or centroid on demand") {
    const Stacks stacks;
    const Shape3 shape{6, 8, 9};
    Array kernel = gaussian(shape, {4, 2, 6}, image_voxel_um);
    for (Complex& value : kernel.values) value += 1e-3;  // moves the centroid to the middle
    write_stack(stacks / "off.tif", kernel, image_voxel_um);
    std::array<double, 3> centroid{};
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                const double share = kernel(z, y, x).real() / sum_of(kernel).real();
                centroid[0] += share * static_cast<double>(z);
                centroid[1] += share * static_cast<double>(y);
                centroid[2] += share * static_cast<double>(x);
            }
    const Index3 mass{std::lround(centroid[0]), std::lround(centroid[1]), std::lround(centroid[2])};
    REQUIRE(mass != Index3{4, 2, 6});
    struct Case {
        const char* name;
        Index3 center;
        bool shifts;  // whether the result's peak is not at the point
    };
    for (const Case& c : {Case{"peak", {4, 2, 6}, false}, Case{"centroid", mass, true},
                          Case{"middle", {3, 4, 4}, true}}) {
        INFO(c.name);
        const CommandResult result =
            testing::convolume({"convolve", "image.tif", "off.tif", "-o", "out.tif", "--overwrite",
                                "--kernel-center", c.name},
                               stacks);
        INFO(result.err);
        REQUIRE(result.status == 0);
        CHECK(contains(result.err, "shifts the image by as much") == c.shifts);
        const Array wanted =
            oracle_convolve(stacks.image, kernel, {Mode::same, {}, Operation::convolve, c.center});
        CHECK(stacks.error_against(scaled(wanted, 1 / sum_of(kernel).real())) < 1e-5);
        const CommandResult restored =
            testing::convolume({"deconvolve", "image.tif", "off.tif", "-o", "out.tif",
                                "--overwrite", "--kernel-center", c.name, "--iterations", "1"},
                               stacks);
        INFO(restored.err);
        REQUIRE(restored.status == 0);
        CHECK(contains(restored.err, "warning: the PSF's peak is z,y,x 1,-2,2 voxels") ==
              (c.center == Index3{3, 4, 4}));
    }
}

TEST_CASE("a measured kernel's background is subtracted, by number or from its faces") {
    const Stacks stacks;
    const Shape3 shape{9, 15, 15};
    const Array clean = gaussian(shape, {4, 7, 7}, {0.3, 0.15, 0.15});
    // A level of 60 counts, with a ripple of ±2 that the estimate must cover.
    Array measured(shape), wanted(shape);
    index_t i = 0;
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x, ++i) {
                const double light = std::round(5e4 * clean(z, y, x).real());
                measured(z, y, x) = 60 + light + static_cast<double>(i % 5) - 2;
            }
    const auto cut_at = [&](double level) {
        for (std::size_t k = 0; k < wanted.values.size(); ++k)
            wanted.values[k] = std::max(0.0, measured.values[k].real() - level);
        return scaled(
            oracle_convolve(stacks.image, wanted, {Mode::same, {}, Operation::convolve, {4, 7, 7}}),
            1 / sum_of(wanted).real());
    };
    write_image(stacks / "measured.npy", measured, PixelType::uint16);
    const auto run = [&](const char* background) {
        return testing::convolume({"convolve", "image.tif", "measured.npy", "-o", "out.tif",
                                   "--overwrite", "--json", "--psf-background", background},
                                  stacks);
    };
    const CommandResult number = run("61.5");
    INFO(number.err);
    REQUIRE(number.status == 0);
    CHECK(contains(number.err, "61.5 subtracted from the kernel"));
    CHECK(stacks.error_against(cut_at(61.5)) < 1e-5);

    std::vector<double> outer;
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x)
                if (z % 8 == 0 || y % 14 == 0 || x % 14 == 0)
                    outer.push_back(measured(z, y, x).real());
    const auto middle_of = [](std::vector<double> values) {
        std::sort(values.begin(), values.end());
        return values[values.size() / 2];
    };
    const double middle = middle_of(outer);
    for (double& value : outer) value = std::abs(value - middle);
    const double expected = middle + 3 * 1.4826 * middle_of(outer);
    REQUIRE(expected < 75);
    const CommandResult found = run("auto");
    REQUIRE(found.status == 0);
    const double level = nlohmann::json::parse(found.out).at("kernel").at("background");
    CHECK(level == Approx(expected));
    CHECK(stacks.error_against(cut_at(level)) < 1e-5);

    CHECK(run("dark").status == 2);
    CHECK(run("1e6").status == 65);  // no tap is left above this background
    write_image(stacks / "tiny.npy", Array({1, 2, 2}), PixelType::float32);
    CHECK(
        testing::convolume(
            {"convolve", "image.tif", "tiny.npy", "--dry-run", "--psf-background", "auto"}, stacks)
            .status == 2);
}

TEST_CASE("the axes of a kernel file can be corrected by an option") {
    const TemporaryFolder folder;
    Random random(test_seed("kernel axes"));
    const Array kernel = random.array({3, 4, 5}, false, 1);
    write_image(folder / "image.npy", random.array({6, 9, 10}, false, 1), PixelType::float32);
    write_image(folder / "kernel.npy", kernel, PixelType::float32);
    io::ImageMetadata metadata;
    metadata.type = PixelType::float32;
    metadata.channels = 3;
    std::vector<Array> planes(3, Array({1, 4, 5}));
    for (index_t z = 0; z < 3; ++z)
        std::copy_n(kernel.values.begin() + z * 20, 20,
                    planes[static_cast<std::size_t>(z)].values.begin());
    write_image(folder / "channels.tif", planes, metadata);
    const auto run = [&](const std::string& command, const std::string& psf, Arguments more) {
        more.insert(more.begin(), {command, "image.npy", psf, "-o", "out.npy", "--overwrite"});
        if (command == "deconvolve") more.insert(more.end(), {"--iterations", "2"});
        return testing::convolume(more, folder);
    };
    for (const std::string command : {"convolve", "deconvolve", "simulate"}) {
        INFO(command);
        REQUIRE(run(command, "kernel.npy", {}).status == 0);
        const Array expected = read_image(folder / "out.npy").only();
        const CommandResult refused = run(command, "channels.tif", {});
        CHECK(refused.status == 65);
        CHECK(contains(refused.err, "has 3 channels and 1 frames"));
        CHECK(contains(refused.err, "if these are its planes, add --kernel-axes ZYX"));
        const CommandResult result = run(command, "channels.tif", {"--kernel-axes", "ZYX"});
        INFO(result.err);
        REQUIRE(result.status == 0);
        CHECK(read_image(folder / "out.npy").only().values == expected.values);
        // The option also works for many files, which open the kernel before anything is computed.
        CHECK(testing::convolume({command, "image.npy", "channels.tif", "--kernel-axes", "ZYX",
                                  "--output-dir", command},
                                 folder)
                  .status == 0);
    }
    const CommandResult idle = testing::convolume(
        {"deconvolve", "image.npy", "-o", "out.npy", "--na", "1.2", "--kernel-axes", "ZYX"},
        folder);
    CHECK(idle.status == 2);
    CHECK(contains(idle.err, "--kernel-axes and --kernel-image are for kernel files"));
}

TEST_CASE("voxel sizes that make a kernel vanish or huge are refused, and both sizes are named") {
    const Stacks stacks;
    const std::string sizes = "voxel sizes differ: the image has ";
    const auto said = [&](const std::string& voxel, int status) {
        const CommandResult result = stacks.run({"--voxel", voxel, "-q"});
        INFO(result.err);
        CHECK(result.status == status);
        return result.err;
    };
    const std::string shrunk = said("300,100,100um", 2);
    CHECK(contains(shrunk, sizes + "voxel z,y,x 300×100×100 µm"));
    CHECK(contains(shrunk, "0.2×0.07×0.07 µm"));
    CHECK(contains(shrunk, "1×1×1 samples of the kernel's 25×37×36"));
    CHECK(contains(shrunk, "--psf-resample ignore"));
    CHECK(contains(said("0.3,0.1,0.1nm", 2), "correct one of the sizes"));
    // An unlikely but possible ratio of voxel sizes gets a warning.
    CHECK(contains(said("1000,1000,1000nm", 0), "warning: " + sizes));
    CHECK(contains(said("15,6,6nm", 0), "warning: " + sizes));
    CHECK_FALSE(contains(said("300,150,150nm", 0), "warning"));
}

TEST_CASE("every command warns of an image of one plane and a kernel of several") {
    const TemporaryFolder folder;
    Random random(test_seed("one plane"));
    write_image(folder / "image.npy", random.array({1, 20, 20}, false, 1), PixelType::float32);
    write_image(folder / "psf.npy", gaussian({5, 7, 7}, {2, 3, 3}, image_voxel_um),
                PixelType::float32);
    const std::string warning = "warning: the image has one plane, but the PSF \"psf.npy\" has 5: ";
    const auto said = [&](const Arguments& arguments) {
        Arguments all{arguments[0], "image.npy", "psf.npy", "-o", "out.npy", "--overwrite", "-q"};
        all.insert(all.end(), arguments.begin() + 1, arguments.end());
        return testing::convolume(all, folder).err;
    };
    for (const Arguments& arguments : {Arguments{"convolve"}, Arguments{"simulate"},
                                       Arguments{"deconvolve", "--iterations", "1"}})
        CHECK(contains(said(arguments), warning));
    // The result of mode full has the kernel's planes, so there is no warning.
    CHECK(said({"convolve", "--mode", "full"}) == "");
}
