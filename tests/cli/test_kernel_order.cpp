// SPDX-License-Identifier: Apache-2.0
// Tests kernels in FFT order: they are recognized, and the warning names the option that reads
// them.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

const std::string cure = "give --kernel-center corner";

/// Returns a Gaussian about k/2, wider along z.
Array gaussian(const Shape3& shape) {
    Array array(shape);
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                const auto square = [](index_t i, index_t n) {
                    return static_cast<double>((i - n / 2) * (i - n / 2));
                };
                array(z, y, x) = std::exp(-square(z, shape.z) / 12 - square(y, shape.y) / 6 -
                                          square(x, shape.x) / 6);
            }
    return array;
}

/// Shifts like numpy.fft.ifftshift along the given axes (z, y, x): sample k/2 goes to 0.
Array wrapped(const Array& array, const std::array<bool, 3>& axes = {true, true, true}) {
    Array moved(array.shape);
    const auto to = [&](index_t i, int axis) {
        const index_t n = array.shape[axis];
        return axes[static_cast<std::size_t>(axis)] ? (i + n - n / 2) % n : i;
    };
    for (index_t z = 0; z < array.shape.z; ++z)
        for (index_t y = 0; y < array.shape.y; ++y)
            for (index_t x = 0; x < array.shape.x; ++x)
                moved(to(z, 0), to(y, 1), to(x, 2)) = array(z, y, x);
    return moved;
}

/// An image of a point at 12,32,30, blurred by the kernel.
struct Files : TemporaryFolder {
    explicit Files(const Shape3& extents = {15, 21, 20}) : kernel(gaussian(extents)) {
        Array image({24, 64, 60});
        for (Complex& value : image.values) value = 2;
        const Index3 at{12 - extents.z / 2, 32 - extents.y / 2, 30 - extents.x / 2};
        for (index_t z = 0; z < extents.z; ++z)
            for (index_t y = 0; y < extents.y; ++y)
                for (index_t x = 0; x < extents.x; ++x)
                    image(z + at.z, y + at.y, x + at.x) += 300.0 * kernel(z, y, x);
        write_image(*this / "image.npy", image, PixelType::float32);
        write_image(*this / "good.npy", kernel, PixelType::float32);
        write_image(*this / "fft.npy", wrapped(kernel), PixelType::float32);
    }

    CommandResult run(const std::string& command, const std::string& psf,
                      const Arguments& more = {}) const {
        Arguments arguments{command, "image.npy", psf, "-o", "out.npy", "--overwrite"};
        if (command == "deconvolve") arguments.insert(arguments.end(), {"--iterations", "10"});
        arguments.insert(arguments.end(), more.begin(), more.end());
        CommandResult result = testing::convolume(arguments, *this);
        INFO(result.err);
        REQUIRE(result.status == 0);
        return result;
    }
    Array out() const { return read_image(*this / "out.npy").only(); }

    /// Returns what a run with `array` as its kernel prints.
    std::string said_of(const Array& array, const Arguments& more = {}) const {
        std::filesystem::remove(*this / "other.npy");
        write_image(*this / "other.npy", array, PixelType::float32);
        return run("convolve", "other.npy", more).err;
    }

    Array kernel;
};

}  // namespace

TEST_CASE("a kernel in FFT order gives the same result as in natural order") {
    for (const Shape3& shape : {Shape3{15, 21, 20}, Shape3{8, 9, 10}, Shape3{1, 21, 20}}) {
        const Files files(shape);
        for (const std::string command : {"convolve", "deconvolve", "simulate"}) {
            INFO(command << ' ' << to_string(shape));
            CHECK_FALSE(contains(files.run(command, "good.npy").err, "FFT order"));
            const Array expected = files.out();
            const CommandResult result =
                files.run(command, "fft.npy", {"--kernel-center", "corner"});
            CHECK_FALSE(contains(result.err, "warning: the kernel"));
            CHECK(contains(result.err, "read in FFT order"));
            CHECK(files.out().values == expected.values);
        }
    }
}

TEST_CASE("a restored point is at its original position") {
    const Files files;
    files.run("deconvolve", "fft.npy", {"--kernel-center", "corner"});
    const Array out = files.out();
    const auto brightest =
        std::max_element(out.values.begin(), out.values.end(),
                         [](const Complex& a, const Complex& b) { return a.real() < b.real(); });
    CHECK(brightest - out.values.begin() == (12 * 64 + 32) * 60 + 30);
}

TEST_CASE("a kernel in FFT order gets one warning with its cure") {
    const Files files;
    for (const std::string command : {"convolve", "deconvolve", "simulate"})
        for (const Arguments& more : {Arguments{}, Arguments{"--kernel-center", "peak"}}) {
            const std::string err = files.run(command, "fft.npy", more).err;
            INFO(err);
            CHECK(contains(err, "\"fft.npy\" is in FFT order along z, y and x"));
            CHECK(contains(err, cure));
            // A PSF that is read so spreads its light as far as haze, which makes the background
            // doubtful; but it is not said that the PSF is too small for its haze.
            for (const char* wrong :
                 {"--kernel-center peak", "stay as haze", "--psf-background", "shift "})
                CHECK_FALSE(contains(err, wrong));
        }
    const CommandResult compared =
        testing::convolume({"compare", "image.npy", "fft.npy", "-o", "report", "--methods",
                            "in-core", "--devices", "cpu", "--repeats", "1", "--json"},
                           files);
    INFO(compared.err);
    CHECK(compared.status == 0);
    CHECK(contains(compared.err, cure));
}

TEST_CASE("axes in FFT order are distinguished from axes in natural order") {
    const Files files;
    const std::string planes = files.said_of(wrapped(files.kernel, {false, true, true}));
    CHECK(contains(planes, "in FFT order along y and x"));
    CHECK(contains(planes, "numpy.fft.fftshift, along y and x only"));
    CHECK_FALSE(contains(planes, cure));
    CHECK(contains(files.said_of(wrapped(files.kernel, {true, false, false})), "along z:"));
    CHECK(contains(files.said_of(wrapped(gaussian({1, 21, 20}))), cure));
    CHECK(contains(files.said_of(wrapped(gaussian({5, 5, 5}))), cure));
    // A centered kernel, whose light --kernel-center corner would move away from the center.
    CHECK(contains(files.said_of(files.kernel, {"--kernel-center", "corner"}),
                   "along z, y and x its light is around the middle; leave the option out"));
    CHECK(contains(
        files.said_of(wrapped(files.kernel, {false, true, true}), {"--kernel-center", "corner"}),
        "along z its light is around the middle"));
}

TEST_CASE("off-center and hollow kernels are not taken for kernels in FFT order") {
    const Files files;
    const Shape3 shape{15, 21, 20};
    // A bead near a corner of its stack, rings, a box, an echo, a decay.
    Array bead(shape), near(shape), ring(shape), box(shape), echo(shape), decay(shape);
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                const auto sum = static_cast<double>(z + y + x);
                bead(z, y, x) = std::exp(-static_cast<double>(z * z + y * y + x * x) / 8) + 0.01;
                const double radius =
                    std::hypot(static_cast<double>(y) - 10, static_cast<double>(x) - 10);
                near(z, y, x) = std::exp(
                    -static_cast<double>((z - 1) * (z - 1) + (y - 1) * (y - 1) + x * x) / 8);
                ring(z, y, x) = std::exp(-(radius - 9.5) * (radius - 9.5));
                box(z, y, x) = 1;
                decay(z, y, x) = std::exp(-sum / 4);
            }
    echo(0, 0, 0) = 1;
    echo(14, 20, 19) = 0.9;
    for (const Array& array : {bead, near, ring, box, echo, decay, files.kernel})
        CHECK_FALSE(contains(files.said_of(array), "FFT order"));
    // An off-center kernel gets the hint about its center instead.
    CHECK(contains(files.said_of(bead), "--kernel-center peak keeps it in place"));
}

TEST_CASE("a computed PSF is not read in FFT order") {
    const Files files;
    const CommandResult result = testing::convolume(
        {"deconvolve", "image.npy", "-o", "out.npy", "--na", "1.2", "--wavelength", "520nm",
         "--voxel", "200,100,100nm", "--kernel-center", "corner"},
        files);
    CHECK(result.status == 2);
    CHECK(contains(result.err, "--kernel-center corner is for kernel files"));
}
