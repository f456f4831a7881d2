// SPDX-License-Identifier: Apache-2.0
// Tests `convolume simulate`: compares expected light with the oracle, and recordings with the
// documented formulas.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
using nlohmann::json;

namespace {

const Shape3 shape{7, 18, 15};
const Index3 middle{1, 1, 2};

Array positive(Array array) {
    for (Complex& value : array.values) value = std::abs(value.real());
    return array;
}

/// A phantom with a voxel size and one without, and a PSF that does not sum to 1.
struct Inputs : TemporaryFolder {
    Array phantom;
    Array psf;

    Inputs() {
        Random random(test_seed("inputs of simulate"));
        phantom = positive(random.array(shape, false));
        psf = positive(random.array({3, 3, 5}, false));
        io::ImageMetadata metadata;
        metadata.type = PixelType::float32;
        metadata.unit = "um";
        metadata.voxel_size_um = {0.2, 0.1, 0.1};
        write_image(*this / "phantom.tif", std::vector<Array>{phantom}, metadata);
        write_image(*this / "phantom.npy", phantom, PixelType::float32);
        write_image(*this / "psf.npy", psf, PixelType::float32);
    }

    CommandResult run(Arguments options, const char* file = "phantom.npy") const {
        Arguments arguments{"simulate", file, "psf.npy", "--overwrite", "--device", "cpu"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        return testing::convolume(arguments, *this);
    }
    json report(Arguments options, const char* file = "phantom.npy") const {
        options.insert(options.end(), {"-o", "out.tif", "--truth", "truth.tif", "--json", "-q"});
        const CommandResult result = run(options, file);
        INFO(result.err);
        REQUIRE(result.status == 0);
        return json::parse(result.out);
    }
    Array out() const { return read_image(*this / "out.tif").only(); }
    Array truth() const { return read_image(*this / "truth.tif").only(); }
    /// Returns the phantom blurred by the PSF, normalized to sum 1.
    Array blurred(BoundaryKind boundary = BoundaryKind::zero) const {
        return scaled(
            oracle(phantom, shape, psf, {Mode::same, {boundary}, Operation::convolve, middle}),
            1 / sum_of(psf).real());
    }
};

double largest(const Array& array) {
    double most = 0;
    for (const Complex& value : array.values) most = std::max(most, value.real());
    return most;
}

double worst_difference(const Array& a, const Array& b) {
    REQUIRE(a.shape == b.shape);
    double worst = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i)
        worst = std::max(worst, std::abs(a.values[i] - b.values[i]));
    return worst;
}

}  // namespace

TEST_CASE("without noise, the recording follows the formula of the blurred phantom") {
    const Inputs inputs;
    inputs.report({"--no-noise", "--photons-per-unit", "300", "--background", "20", "--qe", "0.6",
                   "--dark", "30", "--exposure", "0.5", "--gain", "0.25", "--offset", "50",
                   "--boundary", "mirror", "--full-well", "1e6"});
    Array photons = scaled(inputs.blurred(BoundaryKind::mirror), 300);
    for (Complex& value : photons.values) value += 20;
    // Convolution in float32 errs by 1e-6 of the largest value.
    CHECK(worst_difference(inputs.truth(), photons) < 1e-6 * largest(photons));
    Array adu = photons;
    for (Complex& value : adu.values) value = (0.6 * value + 15.0) / 0.25 + 50.0;
    CHECK(worst_difference(inputs.out(), adu) < 0.5 + 1e-5 * largest(adu));
    CHECK(read_image(inputs / "out.tif").metadata.type == PixelType::uint16);
}

TEST_CASE("--photons scales the brightest pixel, of all channels and frames") {
    const Inputs inputs;
    const json one = inputs.report({"--photons", "321", "--background", "10"});
    CHECK(std::abs(largest(inputs.truth()) - 331) < 1e-3);
    CHECK(std::abs(one["recorded"]["peak_photons"].get<double>() - 321) < 1e-6);
    const double per_unit = one["recorded"]["photons_per_unit"];
    CHECK(std::abs(per_unit * largest(inputs.blurred()) / 321 - 1) < 1e-5);

    io::ImageMetadata metadata;
    metadata.frames = 2;
    metadata.channels = 2;
    metadata.type = PixelType::float32;
    const Array& p = inputs.phantom;
    write_image(inputs / "four.tif", {p, scaled(p, 3), scaled(p, 2), p}, metadata);
    inputs.report({"--photons", "300"}, "four.tif");
    const ImageFile truth = read_image(inputs / "truth.tif");
    REQUIRE(truth.volumes.size() == 4);
    const double wanted[] = {100, 300, 200, 100};
    for (std::size_t i = 0; i < 4; ++i)
        CHECK(std::abs(largest(truth.volumes[i]) - wanted[i]) < 1e-3);
    const ImageFile out = read_image(inputs / "out.tif");
    CHECK(out.metadata.frames == 2);
    CHECK(out.metadata.channels == 2);
    // The light is the same, but the noise differs.
    CHECK(worst_difference(out.volumes[0], out.volumes[3]) > 10);
}

TEST_CASE("pixels and steps of the camera gather the light of the phantom") {
    const Inputs inputs;
    inputs.report({"--pixel", "150nm", "--step", "0.3um", "--photons-per-unit", "50"},
                  "phantom.tif");
    const ImageFile truth = read_image(inputs / "truth.tif");
    CHECK(truth.only().shape == Shape3{5, 12, 10});
    const Array light = inputs.blurred();
    Array expected({5, 12, 10});
    for (index_t k = 0; k < 5; ++k)
        for (index_t j = 0; j < 12; ++j)
            for (index_t i = 0; i < 10; ++i)
                for (index_t z = 0; z < shape.z; ++z)
                    for (index_t y = 0; y < shape.y; ++y)
                        for (index_t x = 0; x < shape.x; ++x) {
                            const auto covered = [](index_t voxel, index_t pixel) {
                                const double low = 1.5 * static_cast<double>(pixel);
                                const double v = static_cast<double>(voxel);
                                return std::max(0.0, std::min(v + 1, low + 1.5) - std::max(v, low));
                            };
                            const double near =
                                std::max(0.0, 1 - std::abs(static_cast<double>(z) -
                                                           1.5 * static_cast<double>(k)));
                            expected(k, j, i) +=
                                50 * near * covered(y, j) * covered(x, i) * light(z, y, x);
                        }
    CHECK(worst_difference(truth.only(), expected) < 1e-6 * largest(expected));
    for (const char* file : {"out.tif", "truth.tif"}) {
        const auto size = read_image(inputs / file).metadata.voxel_size_um;
        CHECK(std::abs(size[0].value() - 0.3) < 1e-6);
        CHECK(std::abs(size[1].value() - 0.15) < 1e-6);
        CHECK(std::abs(size[2].value() - 0.15) < 1e-6);
    }
}

TEST_CASE("camera options give the noise of their formulas") {
    const Inputs inputs;
    Array flat({4, 60, 70});
    for (Complex& value : flat.values) value = 1;
    write_image(inputs / "flat.npy", flat, PixelType::uint8);
    const json report = inputs.report(
        {"--boundary", "nearest", "--photons",  "200", "--background", "50", "--qe",   "0.5",
         "--dark",     "100",     "--exposure", "0.2", "--read-noise", "6",  "--gain", "0.5",
         "--offset",   "300",     "--seed",     "5"},
        "flat.npy");
    const Array out = inputs.out();
    double sum = 0, squares = 0;
    for (const Complex& value : out.values) sum += value.real();
    const auto count = static_cast<double>(out.count());
    const double mean = sum / count;
    for (const Complex& value : out.values) squares += std::norm(value - mean);
    const double electrons = 0.5 * 250 + 20, variance = (electrons + 36) / 0.25;
    CHECK(std::abs(mean - (300 + 2 * electrons)) < 5 * std::sqrt(variance / count));
    CHECK(std::abs(squares / count / variance - 1) < 5 * std::sqrt(2 / count));
    // The figures of the report agree with their definitions.
    double noise = 0;
    for (const Complex& value : out.values) noise += std::norm((value - 300.0) * 0.5 - electrons);
    const double db = 10 * std::log10(100.0 * 100 * count / noise);
    CHECK(std::abs(report["recorded"]["signal_to_noise_db"].get<double>() - db) < 1e-4);
    CHECK(std::abs(report["recorded"]["peak_signal_to_noise"].get<double>() -
                   100 / std::sqrt(electrons + 36)) < 1e-4);
    CHECK(report["recorded"]["saturated_pixels"] == 0);
    CHECK(report["camera"]["seed"] == 5);
}

TEST_CASE("pixels do not depend on threads, but on the seed") {
    const Inputs inputs;
    inputs.report({"--threads", "1", "--pixel", "130nm"}, "phantom.tif");
    const Array first = inputs.out();
    for (const char* threads : {"2", "3"}) {
        inputs.report({"--threads", threads, "--pixel", "130nm"}, "phantom.tif");
        CHECK(inputs.out().values == first.values);
    }
    inputs.report({"--seed", "2", "--pixel", "130nm"}, "phantom.tif");
    CHECK(inputs.out().values != first.values);
}

TEST_CASE("saturated pixels are counted and reported") {
    const Inputs inputs;
    const CommandResult result = inputs.run({"-o", "out.tif", "--bits", "8", "--gain", "1",
                                             "--offset", "10", "--photons", "500", "--json"});
    INFO(result.err);
    REQUIRE(result.status == 0);
    CHECK(contains(result.err, "saturated"));
    const ImageFile out = read_image(inputs / "out.tif");
    CHECK(out.metadata.type == PixelType::uint8);
    const json recorded = json::parse(result.out)["recorded"];
    index_t full = 0;
    for (const Complex& value : out.only().values) full += value.real() == 255;
    // Some pixels have the largest value without having been clipped.
    CHECK(recorded["saturated_pixels"] <= full);
    CHECK(recorded["saturated_pixels"] > full - 30);
    CHECK(full > 50);
    CHECK_FALSE(contains(inputs.run({"-o", "out.tif"}).err, "saturated"));
    const json wells = inputs.report({"--full-well", "200"})["recorded"];
    CHECK(wells["saturated_pixels"] > 500);
}

TEST_CASE("simulate prints a short summary, a long one, or nothing") {
    const Inputs inputs;
    const CommandResult normal = inputs.run({"-o", "out.tif", "--truth", "truth.tif"});
    for (const char* word : {"phantom ", "kernel ", "camera ", "plan ", "signal ", "noise ",
                             "time ", "output ", "truth "})
        CHECK(contains(normal.err, word));
    CHECK(inputs.run({"-o", "out.tif", "-q"}).err.empty());
    const auto before = inputs.names();
    const CommandResult dry =
        inputs.run({"--dry-run", "--json", "-q", "--pixel", "0.2um"}, "phantom.tif");
    CHECK(dry.status == 0);
    CHECK(json::parse(dry.out)["output"]["shape"] == json{7, 9, 7});
    CHECK_FALSE(json::parse(dry.out).contains("report"));
    CHECK(inputs.names() == before);
    CHECK(inputs.run({"-o", "out.tif", "--timeline", "t.json", "-q"}).status == 0);
    CHECK(json::parse(read_text(inputs / "t.json")).contains("traceEvents"));
}

TEST_CASE("impossible recordings are refused in one sentence") {
    const Inputs inputs;
    write_image(inputs / "dark.npy", Array({3, 4, 5}), PixelType::float32);
    Random random(test_seed("complex phantom"));
    write_image(inputs / "complex.npy", random.array({3, 4, 5}, true), PixelType::complex64);
    const auto names = inputs.names();
    const auto refused = [&](int status, const std::string& part, Arguments options,
                             const char* file = "phantom.tif") {
        const CommandResult result = inputs.run(options, file);
        INFO(result.err);
        CHECK(result.status == status);
        CHECK(result.out.empty());
        CHECK(contains(result.err, "convolume: error: "));
        CHECK(contains(result.err, part));
        CHECK(inputs.names() == names);
    };
    refused(2, "-o OUT", {});
    const auto option = [&](const char* name, const char* value, const std::string& part) {
        refused(2, part, {"-o", "out.tif", name, value, "-q"});
    };
    option("--pixel", "90nm", "smaller than");
    option("--pixel", "5um", "larger than");
    option("--pixel", "130", "unit");
    option("--step", "0nm", "positive");
    option("--photons", "0", "--photons");
    option("--photons", "nan", "--photons");
    option("--photons-per-unit", "-1", "--photons-per-unit");
    option("--background", "-1", "background");
    option("--qe", "1.5", "quantum efficiency");
    option("--exposure", "-1", "exposure");
    option("--dark", "-1", "dark current");
    option("--read-noise", "-1", "read noise");
    option("--full-well", "0", "full well");
    option("--gain", "0", "gain");
    option("--offset", "70000", "offset");
    option("--bits", "17", "bits");
    option("--bits", "x", "--bits");
    option("--seed", "-1", "--seed");
    option("--method", "fft", "tiled");
    option("--psf-resample", "no", "never");
    refused(2, "--photons", {"-o", "out.tif", "--photons", "5", "--photons-per-unit", "5"});
    refused(2, "voxel size", {"-o", "out.tif", "--pixel", "130nm", "-q"}, "phantom.npy");
    refused(2, "voxel size", {"-o", "out.tif", "--step", "130nm", "-q"}, "phantom.npy");
    refused(2, "inputs", {"-o", "phantom.tif"});
    refused(2, "two outputs", {"-o", "out.tif", "--truth", "out.tif"});
    refused(65, "no light", {"-o", "out.tif", "-q"}, "dark.npy");
    refused(65, "complex", {"-o", "out.tif", "-q"}, "complex.npy");
    refused(66, "gone.tif", {"-o", "out.tif", "-q"}, "gone.tif");
    CHECK(inputs.run({"-o", "out.tif", "-q", "--photons-per-unit", "5"}, "dark.npy").status == 0);
}

TEST_CASE("negative samples are reported") {
    const Inputs inputs;
    const auto use_psf = [&](const Array& psf) {
        std::filesystem::remove(inputs / "psf.npy");
        write_image(inputs / "psf.npy", psf, PixelType::float32);
    };
    Array negative = inputs.phantom;
    negative(2, 3, 4) = -1;
    negative(0, 0, 0) = -0.5;
    write_image(inputs / "negative.npy", negative, PixelType::float32);
    const CommandResult phantom = inputs.run({"-o", "out.tif"}, "negative.npy");
    CHECK(phantom.status == 0);
    CHECK(contains(phantom.err, "warning: 2 samples of the phantom are negative"));

    Array psf = inputs.psf;
    psf(0, 0, 0) = -3;
    use_psf(psf);
    const json report = inputs.report({"--no-noise", "--photons", "50"});
    psf(0, 0, 0) = 0;
    const Array blurred =
        oracle_convolve(inputs.phantom, psf, {Mode::same, {}, Operation::convolve, middle});
    double peak = 0;
    for (const Complex& value : blurred.values) peak = std::max(peak, value.real());
    const Array truth = inputs.truth();
    for (std::size_t i = 0; i < truth.values.size(); ++i)
        CHECK(std::abs(truth.values[i].real() - 50 * blurred.values[i].real() / peak) < 1e-3);
    CHECK(
        contains(inputs.run({"-o", "out.tif"}).err, "1 negative samples of the PSF were set to 0"));
    for (Complex& value : psf.values) value = -1;
    use_psf(psf);
    CHECK(inputs.run({"-o", "out.tif"}).status == 65);

    Array holes = inputs.phantom;
    holes(1, 2, 3) = std::numeric_limits<double>::quiet_NaN();
    write_image(inputs / "holes.npy", holes, PixelType::float32);
    use_psf(inputs.psf);
    const CommandResult refused = inputs.run({"-o", "out.tif"}, "holes.npy");
    CHECK(refused.status == 65);
    CHECK(contains(refused.err, "1,2,3"));
    CHECK(inputs.run({"-o", "out.tif", "--nan", "zero"}, "holes.npy").status == 0);
    CHECK(inputs.run({"-o", "out.tif", "--nan", "propagate"}, "holes.npy").status == 2);
}

TEST_CASE("a specimen larger than the limit is recorded from file to file") {
    const TemporaryFolder folder;
    Random random(test_seed("specimen larger than the limit"));
    const Shape3 large{60, 256, 320};
    Array phantom = random.integers(large, 0, 999);
    io::ImageMetadata metadata;
    metadata.type = PixelType::float32;
    metadata.unit = "um";
    metadata.voxel_size_um = {0.2, 0.1, 0.1};
    metadata.channels = 2;
    write_image(folder / "phantom.tif", {phantom, scaled(phantom, 0.5)}, metadata);
    write_image(folder / "psf.npy", positive(random.array({5, 7, 9}, false)), PixelType::float32);
    const auto run = [&](const Arguments& options) {
        Arguments arguments{"simulate", "phantom.tif", "psf.npy",   "-o", "out.tif",
                            "--truth",  "truth.h5",    "--json",    "-q", "--device",
                            "cpu",      "--overwrite", "--threads", "2"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const CommandResult result = testing::convolume(arguments, folder);
        INFO(result.err);
        REQUIRE(result.status == 0);
        return json::parse(result.out);
    };
    // Each channel of the phantom takes 18.8 MiB, and so does its light.
    constexpr index_t limit = index_t{6} << 20;
    for (const Arguments& camera :
         {Arguments{}, Arguments{"--pixel", "170nm", "--step", "300nm", "--compression", "deflate",
                                 "--photons-per-unit", "3"}}) {
        run(camera);
        const ImageFile wanted = read_image(folder / "truth.h5");
        Arguments options = camera;
        options.insert(options.end(), {"--max-host-mem", "6M"});
        const json report = run(options);
        CHECK(report["light"]["in_file"] == true);
        CHECK(report["plan"]["tasks"] > 2);
        // The limit, and the PSF as read from its file.
        CHECK(report["report"]["peak_buffer_bytes"] <= limit + 16384);
        // The limit, the program with its libraries, and the pieces that writers collect.
        CHECK(report["report"]["peak_resident_bytes"] < limit + (index_t{60} << 20));
        const ImageFile got = read_image(folder / "truth.h5");
        REQUIRE(got.volumes.size() == 2);
        for (std::size_t c = 0; c < 2; ++c)
            CHECK(worst_difference(got.volumes[c], wanted.volumes[c]) <
                  1e-5 * largest(wanted.volumes[0]));
    }
    CHECK(folder.names() ==
          std::vector<std::string>{"out.tif", "phantom.tif", "psf.npy", "truth.h5"});
}
