// SPDX-License-Identifier: Apache-2.0
// Tests outputs: types, compression, and that no file is left if something goes wrong.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

struct OutputInputs : TemporaryFolder {
    Array image;

    explicit OutputInputs(const Shape3& shape = {6, 30, 31}) {
        Random random(test_seed("outputs"));
        image = random.integers(shape, 0, 4000);
        write_image(*this / "image.tif", image, PixelType::uint16);
        Array kernel({3, 3, 3});
        kernel(1, 1, 1) = 1;
        write_image(*this / "delta.tif", kernel, PixelType::uint8);
        kernel(1, 1, 1) = -1;
        kernel(0, 1, 1) = 2;
        write_image(*this / "signed.tif", kernel, PixelType::int16);
    }
    CommandResult run(const Arguments& options) const {
        Arguments arguments{"convolve", "image.tif"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        return testing::convolume(arguments, *this);
    }
};

// Runs with a limit on file sizes: larger writes fail as on a full disk, without special rights.
CommandResult run_with_file_limit(const Arguments& arguments, const TemporaryFolder& folder) {
    Arguments command{"sh", "-c", "ulimit -f 8; exec \"$0\" \"$@\"", convolume_path()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_program(command, folder);
}

}  // namespace

TEST_CASE("integer outputs are rounded, clamped and counted") {
    const OutputInputs inputs;
    REQUIRE(inputs.run({"delta.tif", "-o", "same.tif", "--output-type", "same"}).status == 0);
    const ImageFile same = read_image(inputs / "same.tif");
    CHECK(same.metadata.type == PixelType::uint16);
    CHECK(same.only().values == inputs.image.values);

    const CommandResult result = inputs.run({"signed.tif", "-o", "clamped.tif", "--output-type",
                                             "uint8", "--json", "--kernel-normalize", "none"});
    INFO(result.err);
    REQUIRE(result.status == 0);
    const Array kernel = read_image(inputs / "signed.tif").only();
    const Array exact = oracle_convolve(inputs.image, kernel, {.center = {1, 1, 1}});
    index_t low = 0;
    index_t high = 0;
    for (const Complex& value : exact.values) {
        low += value.real() < 0;
        high += value.real() > 255;
    }
    const auto report = nlohmann::json::parse(result.out)["report"];
    CHECK(report["clamped_low"] == low);
    CHECK(report["clamped_high"] == high);
    CHECK(contains(result.err, std::to_string(low) + " values below and " + std::to_string(high)));
    const Array got = read_image(inputs / "clamped.tif").only();
    for (std::size_t i = 0; i < got.values.size(); ++i)
        CHECK(got.values[i].real() == std::clamp(exact.values[i].real(), 0.0, 255.0));
}

TEST_CASE("compressions shrink the file and keep the pixels") {
    const OutputInputs inputs;
    write_image(inputs / "flat.tif", Array({6, 40, 50}), PixelType::uint16);
    const auto bytes_with = [&](const std::string& compression) {
        const std::string out = compression + ".tif";
        const CommandResult result =
            testing::convolume({"convolve", "flat.tif", "delta.tif", "-o", out, "--compression",
                                compression, "--output-type", "same"},
                               inputs);
        INFO(result.err);
        REQUIRE(result.status == 0);
        CHECK(read_image(inputs / out).only().values == Array({6, 40, 50}).values);
        return std::filesystem::file_size(inputs / out);
    };
    const auto plain = bytes_with("none");
    CHECK(plain >= 6 * 40 * 50 * 2);
    for (const char* compression : {"deflate", "lzw", "zstd", "packbits"})
        CHECK(bytes_with(compression) < plain / 2);
}

TEST_CASE("a timeline never replaces the inputs or the result") {
    const OutputInputs inputs;
    for (const char* timeline : {"image.tif", "delta.tif", "out.tif", "./out.tif"}) {
        const CommandResult result =
            inputs.run({"delta.tif", "-o", "out.tif", "--timeline", timeline, "--overwrite"});
        INFO(timeline << ": " << result.err);
        CHECK(result.status == 2);
    }
    CHECK(read_image(inputs / "image.tif").only().values == inputs.image.values);
    CHECK(inputs.run({"delta.tif", "-o", "out.tif", "--timeline", "run.json"}).status == 0);
}

TEST_CASE("--overwrite replaces a file only when the new one is complete") {
    const OutputInputs inputs;
    write_text(inputs / "out.tif", "precious");
    CHECK(inputs.run({"delta.tif", "-o", "out.tif"}).status == 5);
    CHECK(read_text(inputs / "out.tif") == "precious");
    CHECK(inputs.run({"missing.tif", "-o", "out.tif", "--overwrite"}).status == 66);
    CHECK(read_text(inputs / "out.tif") == "precious");
    CHECK(inputs.run({"delta.tif", "-o", "out.tif", "--overwrite"}).status == 0);
    CHECK(read_image(inputs / "out.tif").metadata.shape == inputs.image.shape);
}

TEST_CASE("a write that fails leaves no file with the final name") {
    const OutputInputs inputs;
    const auto before = inputs.names();
    for (const char* out : {"out.tif", "out.ome.tif", "out.h5", "out.npy"}) {
        const CommandResult result =
            run_with_file_limit({"convolve", "image.tif", "delta.tif", "-o", out, "-q"}, inputs);
        INFO(out << ": " << result.err);
        if (result.status == 4) continue;  // the format is not built in
        CHECK(result.status == 74);
        CHECK(result.err.find('\n') == result.err.size() - 1);
        CHECK(contains(result.err, out));
        CHECK(inputs.names() == before);
    }
    CHECK(run_with_file_limit({"preview", "image.tif", "-o", "p.png"}, inputs).status == 74);
    CHECK(inputs.names() == before);
}

TEST_CASE("a full disk leaves no file with the final name") {
    const OutputInputs inputs({20, 128, 128});
    std::filesystem::create_directory(inputs / "small");
    const CommandResult mounted =
        run_program({"mount", "-t", "tmpfs", "-o", "size=256k", "none", inputs / "small"}, inputs);
    if (mounted.status != 0) SKIP("cannot mount a small file system here: " + mounted.err);
    const CommandResult result = inputs.run({"delta.tif", "-o", "small/out.tif", "-q"});
    const bool empty = std::filesystem::is_empty(inputs / "small");
    run_program({"umount", inputs / "small"}, inputs);
    INFO(result.err);
    CHECK(result.status == 74);
    CHECK(result.err.find('\n') == result.err.size() - 1);
    CHECK(contains(result.err, "small/out.tif"));
    CHECK(empty);
}

TEST_CASE("an answer that cannot be written to stdout is an error") {
    const OutputInputs inputs;
    if (!std::filesystem::exists("/dev/full")) SKIP("this system has no /dev/full");
    const CommandResult result = run_program(
        {"sh", "-c", "exec \"$0\" info image.tif > /dev/full", convolume_path()}, inputs);
    CHECK(result.status == 74);
    CHECK(contains(result.err, "standard output"));
}
