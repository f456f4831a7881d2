// SPDX-License-Identifier: Apache-2.0
// Tests convolve_small() against the oracle, and what it leaves to a Convolver.

#include <limits>

#include "convolume/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/convolver_case.hpp"

using namespace convolume;
using namespace convolume::testing;

TEST_CASE("small convolutions equal the oracle's") {
    const std::uint64_t seed = test_seed("small sums");
    int small = 0;
    for (std::uint64_t number = 0; number < 400; ++number) {
        const ConvolverCase c = random_convolver_case(seed, number);
        const Array want = c.expected();
        const Volume image = to_volume(c.image, c.image_type);
        const Volume kernel = to_volume(c.kernel, c.kernel_type());
        Volume output(want.shape, c.output_type());
        poison(output.view());
        const bool is_done =
            convolve_small(image.view(), kernel.view(), c.options, output.view()).has_value();
        const bool may_sum =
            c.options.method == Method::automatic || c.options.method == Method::direct;
        INFO(c.describe());
        CHECK(is_done == (may_sum && c.options.operation != Operation::adjoint));
        if (!is_done) continue;
        ++small;
        const auto comparison = compare(want, to_array(output.view()), c.norm_floor(want.count()));
        INFO(comparison.report);
        CHECK(comparison.within(c.options.precision));
    }
    CHECK(small > 40);
}

TEST_CASE("small convolutions leave the rest to a Convolver") {
    Volume image({1, 1, 600}, PixelType::float32), kernel({1, 1, 3}, PixelType::float32);
    Volume output(image.shape(), PixelType::float32);
    kernel.elements<float>()[1] = 2;
    image.elements<float>()[5] = std::numeric_limits<float>::quiet_NaN();
    Options options;
    CHECK(!convolve_small(image.view(), kernel.view(), options, output.view()));
    options.nan = NanPolicy::zero;
    const auto report = convolve_small(image.view(), kernel.view(), options, output.view());
    REQUIRE(report);
    CHECK(report->nonfinite_inputs == 1);
    CHECK(output.elements<float>()[5] == 0);

    CHECK(!convolve_small(image.view(), kernel.view(), options, image.view()));
    const Volume wide({1, 1, 500}, PixelType::float32);
    CHECK(!convolve_small(image.view(), wide.view(), options, output.view()));  // 300,000 products
    Volume other({1, 1, 599}, PixelType::float32);
    CHECK_THROWS_AS(convolve_small(image.view(), kernel.view(), options, other.view()),
                    InvalidArgument);
}
