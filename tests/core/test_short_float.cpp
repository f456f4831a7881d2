// SPDX-License-Identifier: Apache-2.0
// Tests samples in 16 bits: their rounding error and their range.

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/short_float.hpp"
#include "tests/catch.hpp"
#include "tests/support/random.hpp"

namespace convolume::testing {

namespace {

struct ExpectedPrecision {
    index_t count;
    int significant;  ///< significant bits of large samples
};

/// Checks that rounding errs by at most half the distance of two numbers for values up to
/// `largest`, and by at most `least` near 0.
void check(const ShortFormat& format, float largest, int significant, double least,
           Random& random) {
    for (int i = 0; i < 4000; ++i) {
        const double share = std::pow(2.0, -24 * random.uniform()) * (i % 2 == 0 ? 1 : -1);
        const auto value = static_cast<float>(share * static_cast<double>(largest));
        const double held = format.lengthened(format.shortened(value));
        const double away = std::abs(held - static_cast<double>(value));
        const double relative = std::ldexp(std::abs(static_cast<double>(value)), -significant);
        REQUIRE(away <= 1.0001 * std::max(relative, least));
        // A value that the format holds does not change.
        const auto again = static_cast<float>(held);
        REQUIRE(format.lengthened(format.shortened(again)) == again);
    }
    CHECK(format.lengthened(format.shortened(0)) == 0);
    const float most = format.lengthened(format.shortened(std::numeric_limits<float>::max()));
    CHECK(most >= largest);
    CHECK(format.lengthened(format.shortened(-std::numeric_limits<float>::infinity())) == -most);
    CHECK(std::isfinite(
        format.lengthened(format.shortened(std::numeric_limits<float>::quiet_NaN()))));
    // Ties go to even.
    const float step = format.lengthened({1});
    CHECK(format.shortened(0.5F * step).bits == 0);
    CHECK(format.shortened(1.5F * step).bits == 2);
    CHECK(format.shortened(2.5F * step).bits == 2);
}

}  // namespace

TEST_CASE("samples in 16 bits are rounded to the nearest of their format") {
    Random random(test_seed("samples in 16 bits"));
    for (const auto& [count, significant] :
         {ExpectedPrecision{1, 13}, ExpectedPrecision{1000, 13}, ExpectedPrecision{1 << 16, 13},
          ExpectedPrecision{(1 << 16) + 1, 12}, ExpectedPrecision{index_t{1} << 32, 12}}) {
        for (const float scale : {1e-20F, 0.3F, 1.0F, 7e12F}) {
            INFO(count << " samples of about " << scale);
            const ShortFormat format(count, scale);
            const float largest = scale * std::sqrt(static_cast<float>(count));
            check(format, largest, significant, std::ldexp(static_cast<double>(scale), -10),
                  random);
        }
    }
}

TEST_CASE("samples in 16 bits with a known mean are rounded to the nearest of their format") {
    Random random(test_seed("samples in 16 bits of which the mean is known"));
    for (const index_t count :
         {index_t{1}, index_t{1} << 12, (index_t{1} << 12) + 1, index_t{1} << 32})
        for (const float mean : {1e-20F, 0.3F, 1.0F, 7e12F}) {
            INFO(count << " samples, on average " << mean);
            const auto all = static_cast<float>(count);
            const bool few = count <= 1 << 12;
            check(ShortFormat::for_mean(count, mean), mean * (few ? std::sqrt(all) : all),
                  few ? 13 : 11, std::ldexp(static_cast<double>(mean), few ? -10 : -9), random);
        }
}

}  // namespace convolume::testing
