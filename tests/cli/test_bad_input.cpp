// SPDX-License-Identifier: Apache-2.0
// Content that cannot be used: one sentence that names the cure, exit code 65, and no output.

#include <cmath>
#include <limits>

#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

void check_bad(const TemporaryFolder& folder, const std::string& image, const std::string& kernel,
               const std::string& names) {
    const auto before = folder.names();
    const CommandResult result =
        testing::convolume({"convolve", image, kernel, "-o", "out.tif", "-q"}, folder);
    INFO(result.err);
    CHECK(result.status == 65);
    CHECK(result.err.find('\n') == result.err.size() - 1);
    CHECK(contains(result.err, names));
    CHECK(folder.names() == before);
}

}  // namespace

TEST_CASE("files that are not images are refused") {
    const TemporaryFolder folder;
    Random random(test_seed("files that are no images"));
    write_image(folder / "image.tif", random.array({4, 20, 30}, false), PixelType::float32);
    write_image(folder / "kernel.tif", random.array({3, 3, 3}, false, 1), PixelType::float32);
    write_text(folder / "empty.tif", "");
    write_text(folder / "text.tif", "this is not a picture");
    const std::string whole = read_text(folder / "image.tif");
    write_text(folder / "cut.tif", whole.substr(0, whole.size() / 2));
    for (const char* bad : {"empty.tif", "text.tif", "cut.tif"}) {
        check_bad(folder, bad, "kernel.tif", bad);
        check_bad(folder, "image.tif", bad, bad);
    }
}

TEST_CASE("kernels that cannot be used are refused") {
    const TemporaryFolder folder;
    Random random(test_seed("kernels that cannot be used"));
    const Shape3 shape{3, 3, 3};
    write_image(folder / "image.tif", random.array({4, 20, 30}, false), PixelType::float32);
    write_image(folder / "zeros.tif", Array(shape), PixelType::float32);
    check_bad(folder, "image.tif", "zeros.tif", "zero");

    Array nan = random.array(shape, false, 1);
    nan(1, 0, 2) = std::numeric_limits<double>::quiet_NaN();
    write_image(folder / "nan.tif", nan, PixelType::float32);
    check_bad(folder, "image.tif", "nan.tif", "nan");

    Array balanced(shape);
    balanced(0, 0, 0) = 1;
    balanced(2, 2, 2) = -1;
    write_image(folder / "balanced.tif", balanced, PixelType::float32);
    const CommandResult result =
        testing::convolume({"convolve", "image.tif", "balanced.tif", "-o", "out.tif"}, folder);
    INFO(result.err);
    CHECK(result.status == 65);
    CHECK(contains(result.err, "sum"));
    CHECK(testing::convolume({"convolve", "image.tif", "balanced.tif", "-o", "out.tif",
                              "--kernel-normalize", "none"},
                             folder)
              .status == 0);

    io::ImageMetadata metadata;
    metadata.channels = 2;
    write_image(folder / "two.tif", {random.array(shape, false), random.array(shape, false)},
                metadata);
    const CommandResult channels =
        testing::convolume({"convolve", "image.tif", "two.tif", "-o", "new.tif"}, folder);
    INFO(channels.err);
    CHECK(channels.status == 65);
    CHECK(contains(channels.err, "2 channels"));
}

TEST_CASE("NaN in the image is an error that names it, a zero, or kept, as the option says") {
    const TemporaryFolder folder;
    Random random(test_seed("NaN in the image"));
    Array image = random.array({4, 8, 9}, false);
    Array repaired = image;
    image(1, 2, 3) = std::numeric_limits<double>::quiet_NaN();
    repaired(1, 2, 3) = 0;
    write_image(folder / "image.tif", image, PixelType::float32);
    write_image(folder / "repaired.tif", repaired, PixelType::float32);
    write_image(folder / "kernel.tif", random.array({3, 3, 3}, false, 1), PixelType::float32);
    check_bad(folder, "image.tif", "kernel.tif", "1,2,3");

    const auto run = [&](const char* name, const char* out, const char* policy) {
        const CommandResult result = testing::convolume(
            {"convolve", name, "kernel.tif", "-o", out, "--nan", policy}, folder);
        INFO(result.err);
        CHECK(result.status == 0);
        return result;
    };
    CHECK(contains(run("image.tif", "zero.tif", "zero").err, "1 NaN"));
    run("repaired.tif", "want.tif", "error");
    CHECK(read_image(folder / "zero.tif").only().values ==
          read_image(folder / "want.tif").only().values);
    run("image.tif", "propagate.tif", "propagate");
    CHECK_FALSE(read_image(folder / "propagate.tif").only()(1, 2, 3).real() == 0);
    CHECK(std::isnan(read_image(folder / "propagate.tif").only()(1, 2, 3).real()));
}

TEST_CASE("the error for an unknown dataset lists those that exist") {
    const TemporaryFolder folder;
    Random random(test_seed("an unknown dataset"));
    try {
        write_image(folder / "image.h5", random.array({4, 8, 9}, false), PixelType::float32);
    } catch (const Unavailable& error) {
        SKIP(error.what());
    }
    write_image(folder / "kernel.npy", random.array({3, 3, 3}, false, 1), PixelType::float32);
    const CommandResult result = testing::convolume(
        {"convolve", "image.h5:/nothing", "kernel.npy", "-o", "out.npy"}, folder);
    INFO(result.err);
    CHECK(result.status == 65);
    CHECK(contains(result.err, "/nothing"));
    CHECK(contains(result.err, "/data"));
}
