// SPDX-License-Identifier: Apache-2.0
// Tests deconvolve's warnings of unsuitable images and PSFs, and that there are none if nothing is
// wrong.

#include <cmath>
#include <filesystem>
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

/// A dark image of noise about `level`, and a PSF with enough planes.
struct Recording : TemporaryFolder {
    explicit Recording(PixelType type = PixelType::uint16, index_t planes = 3)
        : pixels({planes, 64, 48}) {
        metadata.type = type;
        metadata.voxel_size_um = {0.3, 0.1, 0.1};
        Random random(test_seed("recording"));
        const Array noise = random.array(pixels.shape, false);
        for (std::size_t i = 0; i < pixels.values.size(); ++i)
            pixels.values[i] = std::round(100 + 10 * noise.values[i].real());
        psf.metadata.voxel_size_um = metadata.voxel_size_um;
        psf.metadata.type = PixelType::float32;
        psf.volumes.push_back(Random(1).array({5, 5, 5}, false, 1));
        for (Complex& value : psf.volumes[0].values) value = std::abs(value);
        psf.volumes[0](2, 2, 2) = 2;
    }

    /// Runs deconvolve, and returns what it prints.
    std::string run(const Arguments& more = {}) {
        for (const char* name : {"image.tif", "psf.tif"}) std::filesystem::remove(*this / name);
        write_image(*this / "image.tif", std::vector<Array>{pixels}, metadata);
        write_image(*this / "psf.tif", psf.volumes, psf.metadata);
        Arguments arguments{"deconvolve",  "image.tif",    "psf.tif", "-o", "out.tif",
                            "--overwrite", "--iterations", "1",       "-q"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const CommandResult result = testing::convolume(arguments, *this);
        INFO(result.err);
        REQUIRE(result.status == 0);
        report = nlohmann::json::parse(result.out, nullptr, false);
        return result.err;
    }
    void set_pixels(int count, double value) {
        for (int i = 0; i < count; ++i)
            pixels.values[static_cast<std::size_t>(37 * i + 11)] = value;
    }

    Array pixels;
    io::ImageMetadata metadata;
    ImageFile psf;
    nlohmann::json report;  ///< of the last run with --json
};

}  // namespace

TEST_CASE("there is no warning if nothing is wrong") {
    CHECK(Recording().run() == "");
    CHECK(Recording().run({"--background", "100"}) == "");
    CHECK(Recording(PixelType::float32).run() == "");
    CHECK(Recording(PixelType::uint8).run() == "");
}

TEST_CASE("saturated pixels are lower bounds, or a warning tells of them") {
    Recording recording;
    recording.set_pixels(12, 4095);
    CHECK(recording.run() == "");
    CHECK(recording.run({"--saturation", "off"}) == "");
    // Least squares compare all pixels.
    CHECK(contains(recording.run({"--method", "nnls"}),
                   "warning: 12 pixels (0.13 %) are saturated, at 4095:"));
    // A frequent value does not mean overexposure if a pixel has a larger value.
    Recording mixed;
    mixed.set_pixels(30, 4095);
    mixed.set_pixels(1, 5000);
    CHECK(mixed.run({"--method", "nnls"}) == "");
}

TEST_CASE("three warnings are printed, and all with -v and in the JSON") {
    Recording recording;
    for (index_t i = 0; i < 4; ++i) recording.pixels.values[static_cast<std::size_t>(5 + i)] = -50;
    recording.metadata.type = PixelType::int16;
    recording.psf.volumes[0].values[0] = -0.1;
    recording.psf.metadata.voxel_size_um = {};
    const Arguments faulty{"--background", "104"};
    const auto count = [](const std::string& text) {
        int found = 0;
        for (std::size_t at = 0; (at = text.find("warning:", at)) != std::string::npos; ++at)
            ++found;
        return found;
    };
    Arguments with_json = faulty;
    with_json.push_back("--json");
    const std::string text = recording.run(with_json);
    INFO(text);
    const auto& all = recording.report.at("report").at("warnings");
    INFO(all.dump(1));
    REQUIRE(all.size() > 3);
    CHECK(count(text) == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(contains(text, all[i].get<std::string>()));
    CHECK(contains(all[0].get<std::string>(), "the background of 104"));
}

TEST_CASE("the warning of a background above the darkest regions names their mean") {
    Recording recording;
    CHECK(recording.run({"--background", "99"}) == "");
    const std::string text = recording.run({"--background", "104"});
    CHECK(contains(text,
                   "the background of 104 is above the image's darkest regions, whose mean is "));
    CHECK(contains(text, "lower --background, or leave it out"));
    CHECK(recording.run({"--background", "auto"}) == "");
    // One dark corner shows the background, so there is no warning.
    for (index_t y = 0; y < 16; ++y)
        for (index_t x = 0; x < 16; ++x) recording.pixels(1, y, x) -= 25;
    CHECK(contains(recording.run({"--background", "99"}), "darkest regions, whose mean is 7"));
}

TEST_CASE("the default background is that of a dark image, and doubtful if no region is dark") {
    Recording recording;
    const auto background = [&] {
        REQUIRE(recording.run({"--json"}) == "");
        return recording.report["report"]["volumes"][0]["background"].get<double>();
    };
    CHECK(std::abs(background() - 100) < 8);
    // An object that covers less than three quarters of the image changes nothing.
    for (index_t z = 0; z < recording.pixels.shape.z; ++z)
        for (index_t y = 0; y < 40; ++y)
            for (index_t x = 0; x < 48; ++x)
                recording.pixels(z, y, x) += 40.0 * static_cast<double>(y);
    CHECK(std::abs(background() - 100) < 8);

    // A specimen that fills the image but for a darker corner.
    const auto fill = [](Recording& full, bool has_corner) {
        for (index_t z = 0; z < full.pixels.shape.z; ++z)
            for (index_t y = 0; y < 64; ++y)
                for (index_t x = 0; x < 48; ++x)
                    if (!has_corner || y >= 16 || x >= 16)
                        full.pixels(z, y, x) += 300 + 250 * std::sin(0.3 * static_cast<double>(y)) *
                                                          std::sin(0.3 * static_cast<double>(x));
    };
    Recording corner;
    fill(corner, true);
    CHECK_FALSE(contains(corner.run({"--json"}), "background"));
    CHECK(std::abs(corner.report["report"]["volumes"][0]["background"].get<double>() - 100) < 3);
    Recording full;
    fill(full, false);
    const std::string text = full.run({"--json"});
    CHECK(contains(text, "the image may have no dark region: its background is between 0 and "));
    CHECK(contains(text, "; the light of the result may be wrong by "));
    CHECK(contains(text, "--background"));
    const auto& volume = full.report["report"]["volumes"][0];
    const auto found = volume["background"].get<double>();
    // The offset is not known, so that nothing tells how much of this is light.
    CHECK(found == Approx(volume["darkest"].get<double>()));
    CHECK(std::abs(found - 100) < volume["background_error"].get<double>());
    CHECK_FALSE(contains(full.run({"--background", "100"}), "background"));
}

TEST_CASE("a result that has lost light to the specimen beyond the edges gets a warning") {
    Recording recording(PixelType::uint16, 1);
    for (index_t y = 0; y < 64; ++y)
        for (index_t x = 0; x < 6; ++x) recording.pixels(0, y, x) += 4000;
    // A PSF of one sample moves the image along x: by -20, 20 or 0 pixels.
    const auto warning_of = [&](index_t at) {
        recording.psf.volumes[0] = Array({1, 1, 41});
        recording.psf.volumes[0](0, 0, at) = 1;
        return recording.run({"--background", "100"});
    };
    CHECK(contains(warning_of(40),
                   "% of the image's light above the background: the rest is "
                   "ascribed to the specimen beyond the image's edges"));
    CHECK(warning_of(20) == "");
}

TEST_CASE("a computed PSF whose sample has an index below the NA gets a warning") {
    Recording recording;
    recording.run();
    const auto warning_of = [&](const char* index) {
        return testing::convolume({"deconvolve", "image.tif", "-o", "out.tif", "--overwrite", "-q",
                                   "--iterations", "1", "--na", "1.4", "--ni", "1.515", "--ns",
                                   index, "--wavelength", "520nm", "--psf-size", "5,15,15"},
                                  recording)
            .err;
    };
    CHECK(contains(warning_of("1.33"), "the sample's index of 1.33 is below the NA of 1.4"));
    CHECK_FALSE(contains(warning_of("1.45"), "the sample's index"));
}

TEST_CASE("a voxel size known for image or PSF only is named with the option for the other") {
    Recording recording;
    recording.metadata.voxel_size_um = {};
    CHECK(contains(recording.run(),
                   "the image does not say its own and is taken to have the same; "
                   "give them by --voxel"));
    CHECK(recording.run({"--voxel", "300,100,100nm"}) == "");
    recording.psf.metadata.voxel_size_um = {};
    CHECK(recording.run() == "");
    CHECK(contains(recording.run({"--voxel", "300,100,100nm"}),
                   "the PSF \"psf.tif\" does not say its own"));
}

TEST_CASE("an image of one plane and a PSF of several get a warning") {
    Recording recording(PixelType::uint16, 1);
    CHECK(contains(recording.run(), "the image has one plane, but the PSF \"psf.tif\" has 5"));
    recording.psf.volumes[0] = Random(2).array({1, 5, 5}, false, 1);
    for (Complex& value : recording.psf.volumes[0].values) value = std::abs(value);
    recording.psf.volumes[0](0, 2, 2) = 2;
    CHECK(recording.run() == "");
}

TEST_CASE("wavelengths that no microscope uses get a warning with the likely unit") {
    const TemporaryFolder folder;
    const auto err = [&](const char* wavelength) {
        return testing::convolume({"psf", "--na", "0.5", "--voxel", "300,100,100nm", "--explain",
                                   "--wavelength", wavelength},
                                  folder)
            .err;
    };
    CHECK(contains(err("520um"), "did you mean 520nm?"));
    CHECK(contains(err("0.52nm"), "did you mean 0.52um?"));
    CHECK(contains(err("0.25um"), "warning: --wavelength is 0.25 µm"));
    CHECK(contains(err("1.7um"), "warning: --wavelength is 1.7 µm"));
    CHECK_FALSE(contains(err("520nm"), "warning: --wavelength"));
}
