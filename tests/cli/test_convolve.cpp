// SPDX-License-Identifier: Apache-2.0
// Compares every option that changes the result with the oracle.

#include <algorithm>
#include <limits>

#include "core/system/system.hpp"
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

const Shape3 image_shape{7, 9, 11};
const Shape3 kernel_shape{4, 3, 6};
const Index3 middle{2, 1, 3};

struct Inputs : TemporaryFolder {
    Array image;
    Array kernel;

    Inputs() {
        Random random(test_seed("options of convolve"));
        image = random.array(image_shape, false, 1);
        kernel = random.array(kernel_shape, false, 1);
        write_image(*this / "image.npy", image, PixelType::float64);
        write_image(*this / "kernel.npy", kernel, PixelType::float64);
    }

    Array result(Arguments options) const {
        Arguments arguments{"convolve", "image.npy",   "kernel.npy", "-o",         "out.npy",
                            "-q",       "--precision", "float64",    "--overwrite"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const CommandResult result = testing::convolume(arguments, *this);
        INFO(result.err);
        REQUIRE(result.status == 0);
        CHECK(result.err.empty());
        return read_image(*this / "out.npy").only();
    }
    /// Returns the expected result with the default normalization, by the sum.
    Array wanted(const Definition& definition, const Shape3& image_extents = image_shape) const {
        return scaled(oracle(image, image_extents, kernel, definition), 1 / sum_of(kernel).real());
    }
};

void check_result(const Inputs& inputs, const Arguments& options, const Array& wanted) {
    const Array got = inputs.result(options);
    REQUIRE(got.shape == wanted.shape);
    const Comparison comparison = compare(wanted, got);
    INFO((options.empty() ? "no options" : options[0] + " " + options[1])
         << ": " << comparison.report);
    CHECK(comparison.within(Precision::float64));
}

}  // namespace

TEST_CASE("options change the result as defined") {
    const Inputs inputs;
    const Array standard = inputs.wanted({.mode = Mode::same, .center = middle});
    check_result(inputs, {}, standard);

    struct Case {
        Arguments options;
        Definition definition;
    };
    using enum BoundaryKind;
    const Boundary five{constant, 5};
    const Case cases[] = {
        {{"--mode", "full"}, {Mode::full, {}, Operation::convolve, middle}},
        {{"--mode", "valid"}, {Mode::valid, {}, Operation::convolve, middle}},
        {{"--boundary", "constant:5"}, {Mode::same, five, Operation::convolve, middle}},
        {{"--boundary", "nearest"}, {Mode::same, {nearest}, Operation::convolve, middle}},
        {{"--boundary", "reflect"}, {Mode::same, {reflect}, Operation::convolve, middle}},
        {{"--boundary", "mirror"}, {Mode::same, {mirror}, Operation::convolve, middle}},
        {{"--boundary", "wrap"}, {Mode::same, {wrap}, Operation::convolve, middle}},
        {{"--operation", "correlate"}, {Mode::same, {}, Operation::correlate, middle}},
        {{"--op", "adjoint"}, {Mode::same, {}, Operation::adjoint, middle}},
        {{"--kernel-center", "scipy"}, {Mode::same, {}, Operation::convolve, {1, 1, 2}}},
        {{"--kernel-center", "0,2,5"}, {Mode::same, {}, Operation::convolve, {0, 2, 5}}},
    };
    for (const Case& c : cases) {
        const Array wanted = inputs.wanted(c.definition);
        check_result(inputs, c.options, wanted);
        const bool changed =
            c.definition.operation == Operation::adjoint || wanted.values != standard.values;
        CHECK(changed);
    }
}

TEST_CASE("the kernel is normalized by its sum, its peak, or not at all") {
    const Inputs inputs;
    const Array plain = oracle(inputs.image, image_shape, inputs.kernel, {.center = middle});
    double peak = 0;
    for (const Complex& value : inputs.kernel.values) peak = std::max(peak, std::abs(value));
    check_result(inputs, {"--kernel-normalize", "none"}, plain);
    check_result(inputs, {"--psf-normalize", "peak"}, scaled(plain, 1 / peak));
    check_result(inputs, {"--kernel-normalize", "sum"},
                 scaled(plain, 1 / sum_of(inputs.kernel).real()));
}

TEST_CASE("a kernel that is larger than the memory limit is kept in a file beside the result") {
    const Inputs inputs;
    if (system::is_in_memory(inputs.path())) SKIP("the folder of temporary files is in memory");
    Random random(test_seed("a kernel in a file"));
    const Array kernel = random.array({90, 120, 100}, false, 1);
    for (const PixelType type : {PixelType::float32, PixelType::uint16}) {
        const std::string name = message("large-", to_string(type), ".npy");
        write_image(inputs / name, type == PixelType::uint16 ? scaled(kernel, 1e3) : kernel, type);
        const auto run = [&](const char* limit) {
            const CommandResult result =
                testing::convolume({"convolve", "image.npy", name, "-o", "out.npy", "-q",
                                    "--overwrite", "--max-host-mem", limit},
                                   inputs);
            INFO(result.err);
            REQUIRE(result.status == 0);
            return read_image(inputs / "out.npy").only();
        };
        CHECK(run("2MiB").values == run("1GiB").values);
    }
}

TEST_CASE("the adjoint of modes full and valid has the image's size") {
    const Inputs inputs;
    Definition definition{Mode::full, {BoundaryKind::nearest}, Operation::adjoint, middle};
    const Shape3 smaller{4, 7, 6};
    check_result(inputs, {"--mode", "full", "--boundary", "nearest", "--op", "adjoint"},
                 inputs.wanted(definition, smaller));
    definition.mode = Mode::valid;
    const Shape3 larger{10, 11, 16};
    check_result(inputs, {"--mode", "valid", "--boundary", "nearest", "--op", "adjoint"},
                 inputs.wanted(definition, larger));
}

TEST_CASE("complex images and kernels give complex results") {
    const TemporaryFolder folder;
    Random random(test_seed("complex results"));
    const Array image = random.array({5, 6, 7}, true);
    const Array kernel = random.array({3, 2, 4}, true);
    write_image(folder / "image.npy", image, PixelType::complex64);
    write_image(folder / "kernel.npy", kernel, PixelType::complex64);
    const Arguments arguments{"convolve", "image.npy",   "kernel.npy",
                              "-o",       "out.npy",     "--kernel-normalize",
                              "none",     "--operation", "correlate"};
    REQUIRE(testing::convolume(arguments, folder).status == 0);
    const ImageFile got = read_image(folder / "out.npy");
    CHECK(got.metadata.type == PixelType::complex64);
    const Array wanted =
        oracle_convolve(image, kernel, {.operation = Operation::correlate, .center = {1, 1, 2}});
    const Comparison comparison = compare(wanted, got.only());
    INFO(comparison.report);
    CHECK(comparison.within(Precision::float32));
}

TEST_CASE("axes of the image can be corrected by an option") {
    const TemporaryFolder folder;
    Random random(test_seed("axes"));
    const Array stack = random.array({4, 12, 10}, false, 1);
    const Array kernel = random.array({3, 3, 3}, false, 1);
    write_image(folder / "image.npy", stack, PixelType::float64);
    write_image(folder / "kernel.npy", kernel, PixelType::float64);
    const CommandResult result =
        testing::convolume({"convolve", "image.npy", "kernel.npy", "-o", "out.h5", "--axes", "TYX",
                            "--precision", "float64"},
                           folder);
    INFO(result.err);
    REQUIRE(result.status == 0);
    const ImageFile got = read_image(folder / "out.h5");
    CHECK(got.metadata.frames == 4);
    CHECK(got.metadata.shape == Shape3{1, 12, 10});
    for (index_t t = 0; t < 4; ++t) {
        Array frame(Shape3{1, 12, 10});
        for (index_t y = 0; y < 12; ++y)
            for (index_t x = 0; x < 10; ++x) frame(0, y, x) = stack(t, y, x);
        const Array wanted = scaled(oracle_convolve(frame, kernel, {.center = {1, 1, 1}}),
                                    1 / sum_of(kernel).real());
        const Comparison comparison = compare(wanted, got.volumes[static_cast<std::size_t>(t)]);
        INFO("frame " << t << ": " << comparison.report);
        CHECK(comparison.within(Precision::float64));
    }
}

TEST_CASE("convolve: NaN and infinities that are missing are left out, and counted") {
    const TemporaryFolder folder;
    Array image(image_shape), kernel({1, 3, 3});
    for (Complex& value : image.values) value = 3;
    for (Complex& tap : kernel.values) tap = 2;
    image.values[5] = std::numeric_limits<double>::quiet_NaN();
    image.values[60] = std::numeric_limits<double>::infinity();
    write_image(folder / "image.npy", image, PixelType::float32);
    write_image(folder / "kernel.npy", kernel, PixelType::float32);
    const CommandResult result =
        testing::convolume({"convolve", "image.npy", "kernel.npy", "-o", "out.npy", "--nan",
                            "missing", "--boundary", "nearest"},
                           folder);
    INFO(result.err);
    REQUIRE(result.status == 0);
    CHECK(contains(result.err, "left out 2 NaN or infinite values of the image"));
    CHECK_FALSE(contains(result.err, "warning"));
    const Array out = read_image(folder / "out.npy").only();
    for (std::size_t i = 0; i < out.values.size(); ++i) {
        INFO(i << ": " << out.values[i]);
        CHECK(std::abs(out.values[i] - 3.0) < 1e-5);
    }
}
