// SPDX-License-Identifier: Apache-2.0
// Tests commands that read several files as one image: results equal those of the image in one
// file.

#include <filesystem>

#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

constexpr index_t planes = 12;

struct Series : TemporaryFolder {
    Series() {
        Random random(test_seed("series"));
        const Array image = random.array({planes, 9, 10}, false, 1);
        write_image(*this / "image.npy", image, PixelType::float32);
        write_image(*this / "psf.npy", random.array({3, 3, 3}, false, 1), PixelType::float32);
        std::filesystem::create_directory(*this / "series");
        for (index_t z = 0; z < planes; ++z) {
            Array plane(Shape3{1, 9, 10});
            for (index_t y = 0; y < 9; ++y)
                for (index_t x = 0; x < 10; ++x) plane(0, y, x) = image(z, y, x);
            names.push_back("series/z" + std::to_string(z + 1) + ".npy");
            write_image(*this / names.back(), plane, PixelType::float32);
        }
    }

    /// Runs `command` with the words of an image before its other arguments.
    void check(const std::string& command, const Arguments& image, const Arguments& more) const {
        const auto run = [&](const Arguments& words, const char* output) {
            Arguments all{command};
            all.insert(all.end(), words.begin(), words.end());
            all.insert(all.end(), more.begin(), more.end());
            all.insert(all.end(), {"-o", output, "--overwrite", "-q"});
            const CommandResult result = testing::convolume(all, *this);
            INFO(result.err);
            REQUIRE(result.status == 0);
            return read_text(*this / output);
        };
        CHECK(run(image, "stacked.npy") == run({"image.npy"}, "single.npy"));
    }

    std::vector<std::string> names;
};

}  // namespace

TEST_CASE("commands read a folder, a pattern, a list or a template as one image") {
    const Series folder;
    std::string list;
    for (const std::string& name : folder.names) list += name + '\n';
    write_text(folder / "planes.txt", list);
    Arguments typed = folder.names;
    typed.insert(typed.end(), {"--stack", "z"});
    const Arguments images[] = {{"series", "--stack", "z"},
                                {"series/z*.npy", "--stack", "Z"},
                                {"--list", "planes.txt", "--stack", "z"},
                                {"series/z{z}.npy"},
                                typed};
    for (const Arguments& image : images) {
        folder.check("convolve", image, {"psf.npy"});
        folder.check("deconvolve", image, {"--psf", "psf.npy", "--iterations", "2"});
    }
    folder.check("simulate", {"series", "--stack", "z"}, {"psf.npy", "--seed", "3"});
    for (const Arguments& image : {images[0], images[1], images[3]})
        folder.check("project", image, {"--by", "sum"});
}

TEST_CASE("info, preview and psf read stacks") {
    const Series folder;
    CHECK(contains(succeed({"info", "series", "--stack", "z"}, folder).out, "12×9×10"));
    Arguments typed{"info", "--stack", "t"};
    typed.insert(typed.end(), folder.names.begin(), folder.names.end());
    CHECK(contains(succeed(typed, folder).out, "times: 12"));
    succeed({"preview", "series/z{z}.npy", "-o", "a.png"}, folder);
    succeed({"preview", "series", "--stack", "z", "-o", "b.png"}, folder);
    CHECK(read_text(folder / "a.png").size() > 100);
    succeed({"psf", "--like", "series", "--stack", "z", "--voxel", "200,100,100nm", "--na", "0.9",
             "--wavelength", "520nm", "-o", "made.tif"},
            folder);
    CHECK(read_image(folder / "made.tif").metadata.shape.z == 2 * planes - 1);
}

TEST_CASE("stacks that are no image get one sentence") {
    const Series folder;
    const auto refuse = [&](const Arguments& arguments, int status, const char* names) {
        const CommandResult result = testing::convolume(arguments, folder);
        INFO(result.err);
        CHECK(result.status == status);
        CHECK(contains(result.err, names));
        CHECK(result.err.find('\n') == result.err.size() - 1);
    };
    refuse({"convolve", "series", "psf.npy", "-o", "a.npy"}, 66, "--stack z");
    refuse({"info", "series"}, 66, "--stack z");
    refuse({"info", "image.npy", "psf.npy"}, 2, "--stack z");
    refuse({"convolve", "series", "psf.npy", "--stack", "z", "--output-dir", "out"}, 2, "-o OUT");
    refuse({"convolve", "series", "psf.npy", "--stack", "y", "-o", "a.npy"}, 2, "--stack is t, c");
    refuse({"convolve", "series", "psf.npy", "--stack", "z", "-o", "series/z3.npy", "--overwrite"},
           2, "series/z3.npy");
    refuse({"convolve", "series/z{z}.npy", "psf.npy", "-o", "series/z3.npy", "--overwrite"}, 2,
           "series/z3.npy");
}
