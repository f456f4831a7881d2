// SPDX-License-Identifier: Apache-2.0
// Tests `convolume psf --like`: it takes voxels and size from an image, and deconvolution gains.

#include <cmath>
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

const Arguments objective{"--na", "0.9", "--ni", "1.33", "--wavelength", "520nm"};

CommandResult run(Arguments arguments, const TemporaryFolder& folder, const Arguments& more = {}) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    CommandResult result = testing::convolume(arguments, folder);
    INFO(arguments[0] << ": " << result.err);
    REQUIRE(result.status == 0);
    return result;
}

// Returns the sum of squared differences from the truth, with `found` scaled to fit best.
double squared_error(const Array& truth, const Array& found) {
    double products = 0, squares = 0, rest = 0;
    for (std::size_t i = 0; i < truth.values.size(); ++i) {
        products += truth.values[i].real() * found.values[i].real();
        squares += std::norm(found.values[i]);
    }
    for (std::size_t i = 0; i < truth.values.size(); ++i)
        rest += std::norm(truth.values[i] - products / squares * found.values[i]);
    return rest;
}

}  // namespace

TEST_CASE("a PSF made with --like has the image's voxels and twice its planes") {
    const TemporaryFolder folder;
    run({"phantom", "-o", "image.tif", "--size", "16,40,44", "--voxel", "300,120,110nm"}, folder);
    const auto made = [&](const Arguments& more) {
        Arguments arguments{"psf", "--like", "image.tif", "-o", "psf.tif", "--overwrite"};
        arguments.insert(arguments.end(), objective.begin(), objective.end());
        run(arguments, folder, more);
        return read_image(folder / "psf.tif").metadata;
    };
    const auto metadata = made({});
    CHECK(metadata.shape.z == 31);
    CHECK((metadata.shape.y > 20 && metadata.shape.y <= 79));
    const double voxel[] = {0.3, 0.12, 0.11};
    for (std::size_t axis = 0; axis < 3; ++axis)
        CHECK(std::abs(metadata.voxel_size_um[axis].value_or(0) - voxel[axis]) < 1e-6);
    CHECK(made({"--capture", "0.3"}).shape.y < metadata.shape.y);
    CHECK(made({"--size", "5,7,9"}).shape == Shape3{5, 7, 9});
    CHECK(std::abs(*made({"--voxel", "200,100,100nm"}).voxel_size_um[0] - 0.2) < 1e-6);
    CHECK(made({"--modality", "confocal", "--excitation", "488nm"}).shape.z < 31);

    // The size of --size auto does not depend on the image.
    const Shape3 automatic = made({"--size", "auto"}).shape;
    CHECK(automatic.z < 31);
    CHECK(made({"--size", "auto", "--voxel", "300,120,110nm"}).shape == automatic);

    // The side file reproduces the PSF without the image.
    run({"psf", "--from", "psf.json", "-o", "again.tif"}, folder);
    CHECK(read_text(folder / "again.tif") == read_text(folder / "psf.tif"));
    // Parameters of a side file are combined with voxels and size of the image.
    run({"psf", "--from", "psf.json", "--like", "image.tif", "-o", "other.tif"}, folder);
    CHECK(read_image(folder / "other.tif").metadata.shape == metadata.shape);
}

TEST_CASE("images without voxel size and images that would be replaced are refused") {
    const TemporaryFolder folder;
    Random random(test_seed("psf like"));
    write_image(folder / "image.npy", random.array({6, 8, 7}, false, 1), PixelType::float32);
    Arguments arguments{"psf", "--like", "image.npy", "-o", "psf.tif", "-q"};
    arguments.insert(arguments.end(), objective.begin(), objective.end());
    CommandResult result = testing::convolume(arguments, folder);
    CHECK(result.status == 2);
    CHECK(contains(result.err, "\"image.npy\" does not say its voxel size"));
    run(arguments, folder, {"--voxel", "300,120,110nm"});
    CHECK(read_image(folder / "psf.tif").metadata.shape.z == 11);

    arguments[2] = "psf.tif";
    arguments.insert(arguments.end(), {"--overwrite"});
    CHECK(testing::convolume(arguments, folder).status == 2);
    arguments[2] = "none.tif";
    CHECK(testing::convolume(arguments, folder).status == 66);
}

TEST_CASE("a widefield image is restored better with a PSF like it than with an automatic one") {
    const TemporaryFolder folder;
    run({"phantom", "-o", "specimen.tif", "--kind", "cells", "--size", "32,72,72", "--voxel",
         "300,150,150nm", "--seed", std::to_string(test_seed("cells"))},
        folder);
    const auto psf = [&](const char* output, const Arguments& more) {
        Arguments arguments{"psf", "-o", output, "--voxel", "300,150,150nm"};
        arguments.insert(arguments.end(), objective.begin(), objective.end());
        run(arguments, folder, more);
    };
    psf("all.tif", {"--size", "63,143,143"});
    psf("auto.tif", {"--size", "auto"});
    psf("like.tif", {"--like", "specimen.tif"});
    run({"simulate", "specimen.tif", "all.tif", "-o", "image.tif", "--photons", "400", "--offset",
         "0", "--background", "0"},
        folder);
    const Array truth = read_image(folder / "specimen.tif").only();
    const auto error = [&](const char* name) {
        run({"deconvolve", "image.tif", name, "-o", "restored.tif", "--iterations", "25",
             "--overwrite"},
            folder);
        return squared_error(truth, read_image(folder / "restored.tif").only());
    };
    const double with_auto = error("auto.tif"), with_like = error("like.tif");
    const double with_all = error("all.tif");
    INFO(with_auto << ' ' << with_like << ' ' << with_all);
    CHECK(with_like < 0.6 * with_auto);
    CHECK(with_like < 1.1 * with_all);  // a wider PSF hardly improves the result
}

TEST_CASE("the PSF of a single plane holds 95 % of the light of that plane by default") {
    const TemporaryFolder folder;
    const Arguments lens{"--na", "1.4", "--wavelength", "520nm"};
    const auto run_with_lens = [&](Arguments arguments, const Arguments& more = {}) {
        arguments.insert(arguments.end(), lens.begin(), lens.end());
        run(arguments, folder, more);
    };
    run({"phantom", "-o", "specimen.tif", "--kind", "cells", "--size", "1,128,128", "--voxel",
         "200,60,60nm", "--seed", "3"},
        folder);
    run_with_lens({"psf", "-o", "all.tif", "--voxel", "200,60,60nm", "--size", "1,201,201"});
    run({"simulate", "specimen.tif", "all.tif", "-o", "image.tif", "--photons", "2000"}, folder);
    run_with_lens({"psf", "-o", "like.tif", "--like", "image.tif"});

    const Array all = read_image(folder / "all.tif").only();
    const Shape3 shape = read_image(folder / "like.tif").metadata.shape;
    double held = 0;
    for (index_t y = 0; y < shape.y; ++y)
        for (index_t x = 0; x < shape.x; ++x)
            held += all(0, y + 100 - shape.y / 2, x + 100 - shape.x / 2).real();
    CHECK(shape.z == 1);
    CHECK(held > 0.95);
    CHECK(held < 0.99);

    const Array truth = read_image(folder / "specimen.tif").only();
    const auto error = [&](const Arguments& more) {
        run_with_lens({"deconvolve", "image.tif", "-o", "restored.tif", "--overwrite"}, more);
        return squared_error(truth, read_image(folder / "restored.tif").only());
    };
    const double by_default = error({});
    CHECK(by_default < 0.6 * error({"--capture", "0.5"}));
    CHECK(by_default < 1.01 * error({"--capture", "0.95"}));
}
