// SPDX-License-Identifier: Apache-2.0
// Runs `convolume deconvolve` as users do.

#include <signal.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
using namespace std::chrono_literals;

namespace {

// A spot in noise, and a PSF that blurs it.
struct Inputs : TemporaryFolder {
    Array image;
    Array psf;

    Inputs() {
        Random random(test_seed("deconvolve by command"));
        image = random.integers({8, 20, 18}, 90, 110);
        image(4, 10, 9) = 900;
        psf = random.integers({3, 5, 5}, 1, 9);
        // The PSF is bright in its middle plane, so that it has enough planes for no warning, and
        // brightest at its center.
        for (index_t i = 25; i < 50; ++i) psf.values[static_cast<std::size_t>(i)] *= 30;
        psf(1, 2, 2) = 300;
        write_image(*this / "image.tif", image, PixelType::uint16);
        write_image(*this / "psf.tif", psf, PixelType::float32);
    }

    void replace(const std::string& name, const Array& array) const {
        std::filesystem::remove(*this / name);
        write_image(*this / name, array, PixelType::float32);
    }
    CommandResult run(Arguments options, const std::string& output = "out.tif") const {
        Arguments arguments{"deconvolve", "image.tif", "psf.tif", "-o", output, "--overwrite"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        return testing::convolume(arguments, *this);
    }
    Array result(const Arguments& options) const {
        const CommandResult done = run(options);
        INFO(done.err);
        REQUIRE(done.status == 0);
        return read_image(*this / "out.tif").only();
    }
};

}  // namespace

TEST_CASE("deconvolve: one iteration follows the definition") {
    const Inputs inputs;
    const Array psf = scaled(inputs.psf, 1 / sum_of(inputs.psf).real());
    const Definition definition{.boundary = {BoundaryKind::reflect}, .center = {1, 2, 2}};
    const double background = 20;
    Array ones = inputs.image;
    for (Complex& value : ones.values) value = 1;
    const double mean = sum_of(inputs.image).real() / static_cast<double>(inputs.image.count());
    const Array weight = oracle_adjoint(ones, inputs.image.shape, psf, definition);
    Array ratio = inputs.image;
    for (Complex& value : ratio.values)
        value /= mean;  // divides by the blurred constant object plus background
    Array want = oracle_adjoint(ratio, inputs.image.shape, psf, definition);
    for (std::size_t i = 0; i < want.values.size(); ++i)
        want.values[i] *= (mean - background) / weight.values[i];
    const Comparison comparison = compare(want, inputs.result({"--iterations", "1", "--background",
                                                               "20", "--edges", "reflect", "-q"}));
    INFO(comparison.report);
    CHECK(comparison.error < 1e-5);
}

TEST_CASE("deconvolve: every option changes the result") {
    const Inputs inputs;
    const Arguments usual{"-q", "--iterations", "6"};
    const Array standard = inputs.result(usual);
    for (const Arguments& more : {Arguments{"--iterations", "7"},
                                  {"--method", "rl-tv"},
                                  {"--method", "wiener"},
                                  {"--method", "shb"},
                                  {"--method", "wb"},
                                  {"--method", "rlgc"},
                                  {"--acceleration", "none"},
                                  {"--background", "50"},
                                  {"--background", "0"},
                                  {"--edges", "wrap"},
                                  {"--stop", "0.5"},
                                  {"--kernel-center", "0,2,2"}}) {
        Arguments options{"-q"};
        if (more[0] != "--iterations") options = usual;
        options.insert(options.end(), more.begin(), more.end());
        INFO(more[0] << ' ' << more[1]);
        CHECK(inputs.result(options).values != standard.values);
    }
    const Arguments tv{"-q", "--method", "rl-tv"};
    Arguments strong = tv;
    strong.insert(strong.end(), {"--tv", "0.05"});
    CHECK(inputs.result(tv).values != inputs.result(strong).values);
    const Arguments linear{"-q", "--method", "wiener"};
    Arguments noisy = linear;
    noisy.insert(noisy.end(), {"--noise-to-signal", "0.5"});
    CHECK(inputs.result(linear).values != inputs.result(noisy).values);
}

TEST_CASE("deconvolve: channels, times, types and metadata are kept") {
    const Inputs inputs;
    Random random(test_seed("channels"));
    std::vector<Array> volumes;
    for (int i = 0; i < 4; ++i) volumes.push_back(random.integers({4, 10, 12}, 0, 255));
    io::ImageMetadata metadata;
    metadata.type = PixelType::uint8;
    metadata.frames = 2;
    metadata.channels = 2;
    metadata.channel_names = {"DAPI", "GFP"};
    metadata.voxel_size_um = {0.3, 0.1, 0.1};
    metadata.unit = "um";
    write_image(inputs / "many.ome.tif", volumes, metadata);
    const Arguments all{"deconvolve",  "many.ome.tif",  "psf.tif",      "-o",
                        "all.ome.tif", "--output-type", "same",         "--json",
                        "--timeline",  "trace.json",    "--iterations", "4"};
    const CommandResult done = testing::convolume(all, inputs);
    INFO(done.err);
    REQUIRE(done.status == 0);
    const ImageFile got = read_image(inputs / "all.ome.tif");
    CHECK(got.metadata.type == PixelType::uint8);
    CHECK(got.metadata.frames == 2);
    CHECK(got.metadata.channels == 2);
    CHECK(got.metadata.voxel_size_um == metadata.voxel_size_um);
    CHECK(contains(done.err, "were clamped"));
    CHECK(contains(read_text(inputs / "trace.json"), "traceEvents"));
    const auto json = nlohmann::json::parse(done.out);
    CHECK(json["report"]["volumes"].size() == 4);
    CHECK(json["report"]["volumes"][3]["iterations"] == 4);
    CHECK(json["report"]["volumes"][2]["frame"] == 1);
    CHECK(json["report"]["volumes"][2]["channel"] == 0);
    CHECK(json["report"]["volumes"][3]["likelihood"] < 0);
    CHECK(json["plan"]["object"] == nlohmann::json({6, 14, 16}));

    // The line of a result says of which volume, with the numbers in the file.
    const auto lines_of = [&](const Arguments& selection) {
        Arguments arguments{"deconvolve", "many.ome.tif", "psf.tif",      "-o",
                            "some.tif",   "--overwrite",  "--iterations", "1"};
        arguments.insert(arguments.end(), selection.begin(), selection.end());
        return testing::convolume(arguments, inputs).err;
    };
    CHECK(contains(lines_of({}), "frame 1, channel 0 (DAPI): iteration 1 of 1"));
    CHECK(contains(lines_of({"--frame", "1"}), "  channel 1 (GFP): iteration 1 of 1"));
    CHECK(contains(lines_of({"--channel", "1"}), "  frame 1: iteration 1 of 1"));
    CHECK(contains(lines_of({"--channel", "1", "--frame", "0"}), "result  iteration 1 of 1"));

    // Deconvolving the last volume alone gives the same result.
    write_image(inputs / "one.npy", volumes[3], PixelType::uint8);
    REQUIRE(testing::convolume({"deconvolve", "one.npy", "psf.tif", "-o", "one_out.npy",
                                "--output-type", "same", "--iterations", "4"},
                               inputs)
                .status == 0);
    CHECK(read_image(inputs / "one_out.npy").only().values == got.volumes[3].values);
}

TEST_CASE("deconvolve: the report has the method, iterations and likelihood") {
    const Inputs inputs;
    const CommandResult verbose = inputs.run({"-v", "--iterations", "3"});
    CHECK(contains(verbose.err, "iteration 3 of 3, log-likelihood -"));
    CHECK(contains(verbose.err, "object"));
    const CommandResult held = inputs.run({"-v", "--stop", "auto", "--gain", "2"});
    CHECK(contains(held.err, "search, iteration 1 of 30, log-likelihood -"));
    CHECK(contains(held.err, ", gain 2"));
    const CommandResult quiet = inputs.run({"-q", "--iterations", "3"});
    CHECK(quiet.err.empty());
    CHECK(quiet.out.empty());

    Array measured = inputs.psf;
    measured(0, 0, 0) = -1;
    inputs.replace("psf.tif", measured);
    Array dark = inputs.image;
    dark(0, 0, 0) = -5;
    inputs.replace("image.tif", dark);
    const CommandResult warned = inputs.run({"-q", "--iterations", "1"});
    CHECK(contains(warned.err, "1 negative samples of the PSF"));
    CHECK(contains(warned.err, "1 negative pixels of the image"));

    const TemporaryFolder& folder = inputs;
    const auto before = folder.names();
    const CommandResult dry =
        testing::convolume({"deconvolve", "image.tif", "psf.tif", "--dry-run", "--json"}, folder);
    CHECK(dry.status == 0);
    CHECK(folder.names() == before);
    CHECK(!nlohmann::json::parse(dry.out).contains("report"));
}

TEST_CASE("deconvolve: mistakes have their exit codes and one sentence") {
    const Inputs inputs;
    const auto check = [&](const Arguments& options, int status, const char* named) {
        Arguments quiet = options;
        quiet.push_back("-q");
        const CommandResult done = inputs.run(quiet, "never.tif");
        INFO(options[0] << ": " << done.err);
        CHECK(done.status == status);
        CHECK(contains(done.err, named));
        CHECK(std::count(done.err.begin(), done.err.end(), '\n') == 1);
    };
    check({"--method", "lucy"}, 2, "rl-tv");
    check({"--iterations", "0"}, 2, "--iterations");
    check({"--edges", "constant"}, 2, "extend");
    check({"--background", "dark"}, 2, "--background");
    check({"--background", "-3"}, 2, "background");
    check({"--stop", "-1"}, 2, "stop");
    check({"--stop", "soon"}, 2, "--stop");
    check({"--stop", "auto", "--method", "wiener"}, 2, "photons");
    check({"--gain", "0.5", "--iterations", "3"}, 2, "nothing uses --gain");
    check({"--gain", "0", "--stop", "auto"}, 2, "gain");
    check({"--output-type", "complex64"}, 2, "complex64");
    check({"--tv", "0.1"}, 2, "not apply to the method rl;");
    check({"--noise-to-signal", "0.1", "--method", "rl-tv"}, 2, "not apply to the method rl-tv;");
    check({"--acceleration", "biggs-andrews", "--method", "wiener"}, 2,
          "not apply to the method wiener;");
    check({"--acceleration", "biggs-andrews", "--method", "shb"}, 2,
          "not apply to the method shb;");
    check({"--no-data", "0", "--method", "nnls"}, 2, "not apply to the method nnls,");
    check({"--nan", "missing", "--method", "wiener"}, 2, "not apply to the method wiener,");
    check({"--consensus", "0.5"}, 2, "not apply to the method rl;");
    check({"--unmatched", "2"}, 2, "not apply to the method rl;");
    check({"--max-host-mem", "50K", "--kernel-center", "peak", "--device", "cpu"}, 3, "limit");
    check({"--max-host-mem", ""}, 2, "no size in bytes");
    check({"--saturation", ""}, 2, "--saturation");
    Array broken = inputs.image;
    broken(1, 2, 3) = std::nan("");
    inputs.replace("image.tif", broken);
    check({"--iterations", "2"}, 65, "1,2,3");
    inputs.replace("psf.tif", Array({3, 3, 3}));
    check({"--iterations", "2"}, 65, "zero");
    const auto names = inputs.names();
    CHECK(std::find(names.begin(), names.end(), "never.tif") == names.end());
}

TEST_CASE("deconvolve: values that ask for nothing are accepted with every method") {
    const Inputs inputs;
    const Array plain = inputs.result({"-q", "--method", "nnls", "--iterations", "2"});
    const Array idle =
        inputs.result({"-q", "--method", "nnls", "--iterations", "2", "--acceleration", "none",
                       "--tv", "auto", "--coarse-start", "0", "--saturation", "off", "--no-data",
                       "off", "--hot-pixels", "auto", "--nan", "error"});
    CHECK(idle.values == plain.values);
}

TEST_CASE("deconvolve: a run may start from an image, and time points from the previous result") {
    const Inputs inputs;
    const Arguments usual{"-q",      "--iterations", "4", "--acceleration", "none", "--edges",
                          "reflect", "--method",     "rl"};
    const auto with = [&](Arguments more) {
        more.insert(more.end(), usual.begin(), usual.end());
        return more;
    };
    Arguments eight = usual;
    eight[2] = std::string{"8"};
    const Array whole = inputs.result(eight);
    REQUIRE(inputs.run(usual, "half.tif").status == 0);
    // A plain iteration continues as if it had not been interrupted.
    CHECK(inputs.result(with({"--start", "half.tif"})).values == whole.values);

    io::ImageMetadata metadata;
    metadata.frames = 2;
    metadata.type = PixelType::float32;
    write_image(inputs / "frames.tif", {inputs.image, inputs.image}, metadata);
    Arguments series = with({"deconvolve", "frames.tif", "psf.tif", "-o", "series.tif"});
    series.push_back("--warm-start");
    const CommandResult done = testing::convolume(series, inputs);
    INFO(done.err);
    REQUIRE(done.status == 0);
    const ImageFile got = read_image(inputs / "series.tif");
    CHECK(got.volumes[0].values != whole.values);
    CHECK(got.volumes[1].values == whole.values);

    const CommandResult refused = inputs.run({"--start", "psf.tif", "-q"}, "never.tif");
    CHECK(refused.status == 2);
    CHECK(contains(refused.err, "psf.tif is 3×5×5"));
    CHECK(inputs.run({"--start", "half.tif", "-q", "--method", "wiener"}, "never.tif").status == 2);
}

TEST_CASE("deconvolve: Ctrl-C leaves no file") {
    const TemporaryFolder folder;
    Random random(test_seed("interrupted deconvolution"));
    write_image(folder / "image.tif", random.integers({32, 128, 128}, 0, 50), PixelType::uint16);
    write_image(folder / "psf.tif", random.array({9, 15, 15}, false, 1), PixelType::float32);
    const auto before = folder.names();
    Process process({convolume_path(), "deconvolve", "image.tif", "psf.tif", "-o", "out.tif",
                     "--iterations", "1000000", "-v"},
                    folder.path());
    for (int i = 0; i < 400 && !contains(process.err(), "iteration 2 of"); ++i)
        std::this_thread::sleep_for(25ms);
    process.signal(SIGINT);
    const CommandResult result = process.wait();
    CHECK(result.status == 130);
    CHECK(contains(result.err, "interrupted; nothing was written"));
    CHECK(folder.names() == before);
}

TEST_CASE("deconvolve: the next volume is read during the computation if memory allows") {
    const Inputs inputs;
    io::ImageMetadata metadata;
    metadata.frames = 5;
    metadata.type = PixelType::float32;
    std::vector<Array> frames;
    for (int t = 0; t < 5; ++t) frames.push_back(scaled(inputs.image, 1 + t));
    write_image(inputs / "frames.tif", frames, metadata);
    const auto run = [&](const char* output, const Arguments& options) {
        Arguments arguments{"deconvolve", "frames.tif",   "psf.tif", "-o",       output, "--json",
                            "-q",         "--iterations", "4",       "--device", "cpu"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const CommandResult result = testing::convolume(arguments, inputs);
        INFO(result.err);
        REQUIRE(result.status == 0);
        return nlohmann::json::parse(result.out);
    };
    const nlohmann::json free = run("free.tif", {});
    // A limit that the plan just meets leaves no room for a second pair of volumes.
    const index_t least = free["plan"]["host_bytes"];
    const nlohmann::json tight = run("tight.tif", {"--max-host-mem", std::to_string(least)});
    constexpr index_t psf_as_read = 1024;
    CHECK(tight["report"]["peak_buffer_bytes"] <= least + psf_as_read);
    CHECK(free["report"]["peak_buffer_bytes"] > tight["report"]["peak_buffer_bytes"]);
    const ImageFile a = read_image(inputs / "free.tif"), b = read_image(inputs / "tight.tif");
    for (std::size_t t = 0; t < 5; ++t) {
        CHECK(compare(a.volumes[t], b.volumes[t]).error < 1e-5);
        if (t > 0) CHECK(a.volumes[t].values != a.volumes[t - 1].values);
    }

    // The error names the first faulty volume, although the next one has been read already.
    frames[2](1, 2, 3) = frames[3](1, 2, 3) = std::numeric_limits<double>::quiet_NaN();
    std::filesystem::remove(inputs / "frames.tif");
    write_image(inputs / "frames.tif", frames, metadata);
    const auto before = inputs.names();
    for (const Arguments& limit :
         {Arguments{}, Arguments{"--max-host-mem", std::to_string(least)}}) {
        Arguments arguments{"deconvolve", "frames.tif", "psf.tif", "-o",           "bad.tif",
                            "-q",         "--device",   "cpu",     "--iterations", "2"};
        arguments.insert(arguments.end(), limit.begin(), limit.end());
        const CommandResult result = testing::convolume(arguments, inputs);
        INFO(result.err);
        CHECK(result.status == 65);
        CHECK(contains(result.err, "in frame 2, channel 0 (from 0)"));
        CHECK(inputs.names() == before);
    }
}
