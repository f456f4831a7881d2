// SPDX-License-Identifier: Apache-2.0
// Checks that a part of a kernel is what split() makes of the padded kernel.

#include "tests/catch.hpp"
#include "tests/decompose/split_support.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
using decompose::SplitLayout;

TEST_CASE("a part of a kernel equals the part of the padded kernel", "[split]") {
    Random random(test_seed("split_kernel"));
    for (int trial = 0; trial < 50; ++trial) {
        const bool complex_data = random.chance(0.5);
        const bool complex_taps = complex_data && random.chance(0.5);
        const Precision precision = random.pick({Precision::float32, Precision::float64});
        const int parts = random.pick({1, 2, 4, 8, 16});
        const index_t grid = 2 * parts * random.integer(1, 4);
        const Shape3 shape{random.integer(1, grid), random.integer(1, 4), random.integer(1, 7)};
        INFO("P = " << parts << ", K = " << grid << ", kernel " << to_string(shape)
                    << (complex_data ? ", complex" : ", real"));
        const Array taps = random.array(shape, complex_taps);
        const Volume kernel = to_volume(taps, pixel_type(precision, complex_taps));
        const auto want =
            split_array(taps, SplitLayout{complex_data, parts, grid, shape.y, shape.x}, precision);
        for (int p = 0; p < parts; ++p) {
            const PartId id{p, parts, grid};
            const auto kind = decompose::part_shape(complex_data, id);
            const Volume part = decompose::split_kernel(kernel.view(), complex_data, id, precision);
            REQUIRE(part.type() == pixel_type(precision, kind.complex_data));
            REQUIRE(part.shape() == Shape3{std::min(shape.z, kind.planes), shape.y, shape.x});
            Array padded({kind.planes, shape.y, shape.x});
            const Array compact = to_array(part.view());
            std::copy(compact.values.begin(), compact.values.end(), padded.values.begin());
            CHECK(distance(want[static_cast<std::size_t>(p)], padded) <
                  (precision == Precision::float32 ? 5e-7 : 1e-15));
        }
    }
}

TEST_CASE("kernels of integers and with strides are split as well", "[split]") {
    Random random(test_seed("split_kernel_types"));
    const Array taps = random.integers({5, 3, 4}, 0, 200);
    const Volume kernel = to_volume(taps, PixelType::uint8);
    ConstImageView flipped = kernel.view();
    flipped.data = flipped.at(4, 2, 3);
    flipped.strides = {-flipped.strides.z, -flipped.strides.y, -1};
    const Array want =
        to_array(decompose::split_kernel(to_volume(to_array(flipped), PixelType::float64).view(),
                                         false, {1, 2, 8}, Precision::float64)
                     .view());
    const Array got =
        to_array(decompose::split_kernel(flipped, false, {1, 2, 8}, Precision::float64).view());
    CHECK(distance(want, got) == 0);
}

TEST_CASE("kernels that do not fit are refused", "[split]") {
    const Volume tall({9, 1, 1}, PixelType::float32);
    CHECK_THROWS_AS(decompose::split_kernel(tall.view(), false, {0, 2, 8}, Precision::float32),
                    InvalidArgument);
    const Volume complex({2, 1, 1}, PixelType::complex64);
    CHECK_THROWS_AS(decompose::split_kernel(complex.view(), false, {0, 2, 8}, Precision::float32),
                    InvalidArgument);
    const Volume flat({2, 0, 1}, PixelType::float32);
    CHECK_THROWS_AS(decompose::split_kernel(flat.view(), false, {0, 2, 8}, Precision::float32),
                    InvalidArgument);
}
