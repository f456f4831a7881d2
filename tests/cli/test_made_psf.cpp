// SPDX-License-Identifier: Apache-2.0
// Tests PSFs that deconvolve and simulate compute: results equal those with files of `psf --like`.

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
using nlohmann::json;

namespace {

const Arguments lens{"--na", "0.9", "--ni", "1.33"};

/// Two channels at two times, with a voxel size.
struct Images : TemporaryFolder {
    Images() {
        Random random(test_seed("made PSFs"));
        io::ImageMetadata metadata;
        metadata.frames = 2;
        metadata.channels = 2;
        metadata.voxel_size_um = {0.4, 0.2, 0.15};
        std::vector<Array> volumes;
        for (int i = 0; i < 4; ++i) volumes.push_back(random.array({6, 14, 15}, false, 1));
        write_image(*this / "image.ome.tif", volumes, metadata);
        metadata.frames = metadata.channels = 1;
        write_image(*this / "one.tif", std::vector<Array>{volumes[0]}, metadata);
        write_image(*this / "two.tif", std::vector<Array>{volumes[3]}, metadata);
        metadata.voxel_size_um = {};
        write_image(*this / "unknown.tif", std::vector<Array>{volumes[0]}, metadata);
        for (const char* wavelength : {"520nm", "640nm"})
            succeed({"psf", "-o", std::string(wavelength) + ".tif", "--like", "image.ome.tif",
                     "--wavelength", wavelength},
                    lens);
    }

    CommandResult run(Arguments arguments, const Arguments& more = {}) const {
        arguments.insert(arguments.end(), more.begin(), more.end());
        return testing::convolume(arguments, *this);
    }
    CommandResult succeed(const Arguments& arguments, const Arguments& more = {}) const {
        CommandResult result = run(arguments, more);
        INFO(result.err);
        REQUIRE(result.status == 0);
        return result;
    }
    void refuse(const Arguments& arguments, int status, const std::string& names) const {
        const auto before = this->names();
        const CommandResult result = run(arguments, {"--overwrite"});
        INFO(names << ": " << result.err);
        CHECK(result.status == status);
        CHECK(contains(result.err, names));
        CHECK(this->names() == before);
    }
};

void check_equal(const ImageFile& a, const ImageFile& b) {
    REQUIRE(a.volumes.size() == b.volumes.size());
    for (std::size_t i = 0; i < a.volumes.size(); ++i)
        CHECK(a.volumes[i].values == b.volumes[i].values);
}

}  // namespace

TEST_CASE("a computed PSF equals that of `psf --like`, for each channel") {
    const Images folder;
    const Arguments commands[] = {
        {"deconvolve", "image.ome.tif", "--iterations", "3"},
        {"simulate", "image.ome.tif", "--no-noise", "--photons-per-unit", "500"}};
    for (const Arguments& command : commands) {
        INFO(command[0]);
        const auto image = [&](const Arguments& more) {
            folder.succeed(command, [&] {
                Arguments all = more;
                all.insert(all.end(), {"-o", "out.ome.tif", "--overwrite"});
                return all;
            }());
            return read_image(folder / "out.ome.tif");
        };
        const auto made = [&](const Arguments& more) {
            Arguments all = lens;
            all.insert(all.end(), more.begin(), more.end());
            return image(all);
        };
        const ImageFile two = image({"--psf-for", "0=520nm.tif,1=640nm.tif"});
        CHECK(two.volumes[0].values != image({"640nm.tif"}).volumes[0].values);
        check_equal(made({"--wavelength", "520nm,640nm"}), two);
        check_equal(made({"--wavelength", "640nm"}), image({"640nm.tif"}));
        // Channels may be selected in any order.
        check_equal(made({"--channel", "1,0", "--wavelength", "640,520"}),
                    image({"--channel", "1,0", "--psf-for", "0=520nm.tif,1=640nm.tif"}));
        // Some channels have files, the others a computed PSF.
        check_equal(made({"--wavelength", "640nm", "--psf-for", "0=520nm.tif"}), two);
    }
}

TEST_CASE("computed PSFs are reported with all their parameters") {
    const Images folder;
    const CommandResult result =
        folder.succeed({"deconvolve", "image.ome.tif", "--dry-run", "--json", "--wavelength",
                        "520nm,640nm", "--depth", "2um"},
                       lens);
    CHECK(contains(result.err, "NA 0.9, 640 nm, z,y,x 11×"));
    const json kernels = json::parse(result.out).at("kernel");
    REQUIRE(kernels.size() == 2);
    CHECK(kernels[0].at("psf").at("wavelength_um") == 0.52);
    CHECK(kernels[1].at("psf").at("wavelength_um") == 0.64);
    CHECK(kernels[1].at("psf").at("depth_um") == 2);
    CHECK(kernels[1].at("for_channels") == json{1});
    CHECK(kernels[0].at("file").is_null());
    const json one = json::parse(folder
                                     .succeed({"deconvolve", "one.tif", "--dry-run", "--json",
                                               "--wavelength", "520nm", "--psf-size", "5,7,9"},
                                              lens)
                                     .out);
    CHECK(one.at("kernel").at("shape") == json{5, 7, 9});
}

TEST_CASE("many files share a computed PSF") {
    const Images folder;
    folder.succeed({"deconvolve", "one.tif", "two.tif", "--output-dir", "out", "--iterations", "3",
                    "--wavelength", "520nm"},
                   lens);
    for (const std::string name : {"one.tif", "two.tif"}) {
        folder.succeed({"deconvolve", name, "520nm.tif", "-o", "alone.tif", "--iterations", "3",
                        "--overwrite"});
        check_equal(read_image(folder / "out/" + name), read_image(folder / "alone.tif"));
    }
}

TEST_CASE("PSFs that cannot be computed are refused, and missing parameters are named") {
    const Images folder;
    folder.refuse({"deconvolve", "one.tif", "-o", "out.tif"}, 2, "numerical aperture; give --na");
    folder.refuse({"deconvolve", "one.tif", "-o", "out.tif", "--na", "0.9"}, 2,
                  "give --wavelength");
    folder.refuse({"deconvolve", "one.tif", "520nm.tif", "-o", "out.tif", "--na", "0.9"}, 2,
                  "leave out the one or the other");
    folder.refuse({"deconvolve", "image.ome.tif", "-o", "out.tif", "--na", "0.9", "--wavelength",
                   "520,530,540"},
                  2, "3 wavelengths");
    folder.refuse(
        {"deconvolve", "unknown.tif", "-o", "out.tif", "--na", "0.9", "--wavelength", "520"}, 2,
        "add --voxel");
    folder.refuse({"deconvolve", "one.tif", "-o", "out.tif", "--na", "1.4", "--ni", "1.33",
                   "--wavelength", "520"},
                  2, "aperture of 1.4");
    folder.refuse({"deconvolve", "one.tif", "-o", "out.tif", "--na", "0.9", "--model", "gaussian",
                   "--depth", "2um", "--wavelength", "520"},
                  2, "--depth does not apply");
    folder.refuse(
        {"deconvolve", "one.tif", "-o", "out.tif", "--na", "0.9", "--wavelength", "520um"}, 2,
        "wavelength is 520 µm");
    folder.succeed({"deconvolve", "unknown.tif", "-o", "out.tif", "--voxel", "400,200,150nm",
                    "--wavelength", "520nm", "--iterations", "1"},
                   lens);
}

TEST_CASE("deconvolve warns of a PSF with fewer planes than the image needs") {
    const Images folder;
    const auto warned = [&](const Arguments& psf) {
        Arguments arguments{"psf",          "-o",    "psf.tif", "--overwrite",
                            "--na",         "1.2",   "--ni",    "1.33",
                            "--wavelength", "520nm", "--voxel", "400,200,150nm"};
        folder.succeed(arguments, psf);
        const std::string text =
            folder.succeed({"deconvolve", "one.tif", "psf.tif", "--dry-run"}).err;
        const bool warning = contains(text, "warning: the PSF has ");
        CHECK(warning == contains(text, "give a PSF of "));
        return warning;
    };
    CHECK(warned({"--size", "5,21,21"}));
    CHECK(warned({"--size", "1,21,21"}));
    CHECK_FALSE(warned({"--size", "11,21,21"}));
    CHECK_FALSE(warned({"--like", "one.tif"}));
    // A pinhole keeps light of other planes out, so fewer planes are enough.
    const auto confocal = [&](const char* option, const char* value) {
        return warned(
            {"--modality", "confocal", "--excitation", "488nm", "--pinhole", "0.3", option, value});
    };
    CHECK_FALSE(confocal("--size", "9,21,21"));
    CHECK(confocal("--size", "3,21,21"));
}
