// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "core/pixels/rows.hpp"
#include "tests/catch.hpp"
#include "tests/core/row_types.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
using pixels::find_nonfinite;

namespace {

template <class T>
void check(Random& random) {
    const Shape3 shape{random.integer(1, 6), random.integer(1, 5), random.integer(1, 90)};
    Volume image(shape, pixel_type_of_v<T>);
    T* values = image.elements<T>();
    const index_t count = element_count(shape);
    for (index_t i = 0; i < count; ++i) values[i] = T(static_cast<float>(random.uniform() * 1e30));
    for (const int threads : {1, 2, 3}) REQUIRE_FALSE(find_nonfinite(image.view(), threads));

    index_t first = count;
    for (int k = 0; k < 3; ++k) {
        const index_t i = random.integer(0, count - 1);
        if (i < first) first = i;
        using Real = RealOf<T>;
        const Real bad = random.pick({std::numeric_limits<Real>::quiet_NaN(),
                                      std::numeric_limits<Real>::infinity(),
                                      -std::numeric_limits<Real>::infinity()});
        if constexpr (!is_complex_type<T>)
            values[i] = bad;
        else
            values[i] = random.chance(0.5) ? T(1, bad) : T(bad, 2);
    }
    const Index3 want{first / (shape.y * shape.x), first / shape.x % shape.y, first % shape.x};
    for (const int threads : {1, 2, 3}) {
        const auto found = find_nonfinite(image.view(), threads);
        REQUIRE(found);
        CHECK(found->index == want);
        CHECK_FALSE(std::isfinite(found->value));
    }

    // A view of the samples in reverse: its first sample is the last in memory.
    ConstImageView reversed = image.view();
    reversed.data = reversed.at(shape.z - 1, shape.y - 1, shape.x - 1);
    reversed.strides = {-reversed.strides.z, -reversed.strides.y, -1};
    index_t last = count - 1;
    while (std::isfinite(std::real(values[last])) && std::isfinite(std::imag(values[last]))) --last;
    const index_t from_end = count - 1 - last;
    const auto found = find_nonfinite(reversed, 2);
    REQUIRE(found);
    CHECK(found->index ==
          Index3{from_end / (shape.y * shape.x), from_end / shape.x % shape.y, from_end % shape.x});
}

}  // namespace

TEST_CASE("the first non-finite element is found", "[rows]") {
    Random random(test_seed("find_nonfinite"));
    for (int trial = 0; trial < 25; ++trial) {
        check<float>(random);
        check<double>(random);
        check<std::complex<float>>(random);
        check<std::complex<double>>(random);
    }
}

TEST_CASE("integers and empty images hold nothing non-finite", "[rows]") {
    const Volume image({2, 2, 2}, PixelType::uint16);
    CHECK_FALSE(find_nonfinite(image.view(), 2));
    CHECK_FALSE(find_nonfinite(ConstImageView{nullptr, PixelType::float32, {0, 4, 4}, {}}, 2));
}
