// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <utility>

#include "convolume/error.hpp"
#include "core/fft_size.hpp"
#include "tests/catch.hpp"

using namespace convolume;

namespace {

std::set<index_t> smooth_numbers(index_t limit) {
    std::set<index_t> numbers{1};
    for (const index_t n : numbers)
        for (const index_t p : {2, 3, 5, 7})
            if (n <= limit / p) numbers.insert(n * p);
    return numbers;
}

}  // namespace

TEST_CASE("7-smooth numbers are recognized") {
    const auto smooth = smooth_numbers(5000);
    for (index_t n = 1; n <= 5000; ++n) {
        INFO(n);
        REQUIRE(is_7_smooth(n) == (smooth.count(n) > 0));
    }
    CHECK_FALSE(is_7_smooth(0));
    CHECK_FALSE(is_7_smooth(-6));
    CHECK(is_7_smooth(index_t{1} << 62));
    CHECK_FALSE(is_7_smooth((index_t{1} << 61) - 1));
}

TEST_CASE("good sizes are smooth multiples, large enough and not wasteful") {
    for (const auto& [axis, is_complex] :
         {std::pair{0, false}, std::pair{1, false}, std::pair{2, false}, std::pair{2, true}})
        for (const index_t step : {1, 2, 4, 6, 8, 16, 32, 35, 49})
            for (index_t n = 1; n <= 2100; ++n) {
                const index_t size = good_fft_size(n, step, axis, is_complex);
                INFO("n " << n << " step " << step << " axis " << axis << " size " << size);
                REQUIRE(size >= n);
                REQUIRE(size % step == 0);
                REQUIRE(is_7_smooth(size));
                // At most 50 % above n (or above the step): sizes are not padded to a power of two.
                REQUIRE(2 * size <= 3 * (n + step));
            }
}

TEST_CASE("good sizes never cost more than the next smooth number") {
    const auto smooth = smooth_numbers(6000);
    for (index_t n = 1; n <= 4000; n += 7) {
        const index_t next = *smooth.lower_bound(n), size = good_fft_size(n);
        INFO("n " << n << " size " << size << " next " << next);
        REQUIRE(static_cast<double>(size) <= 1.5 * static_cast<double>(next));
    }
}

TEST_CASE("good sizes end at 2^58") {
    const index_t limit = index_t{1} << 58;
    CHECK(good_fft_size(limit) >= limit);
    CHECK(good_fft_size(limit - 1) >= limit - 1);
    CHECK(good_fft_size(limit, 1024) >= limit);
    CHECK(good_fft_size(limit, 1024) % 1024 == 0);
    CHECK_THROWS_AS(good_fft_size(limit + 1), InvalidArgument);
    CHECK_THROWS_AS(good_fft_size(0), InvalidArgument);
    CHECK_THROWS_AS(good_fft_size(-5), InvalidArgument);
    CHECK_THROWS_AS(good_fft_size(10, 11), InvalidArgument);
    CHECK_THROWS_AS(good_fft_size(10, 0), InvalidArgument);
    CHECK_THROWS_AS(good_fft_size(10, 2 * limit), InvalidArgument);
    for (index_t n = (index_t{1} << 31) - 3; n <= (index_t{1} << 31) + 3; ++n) {
        CHECK(good_fft_size(n, 32) >= n);
        CHECK(good_fft_size(n, 32) % 32 == 0);
    }
    // If a step (7^20 among them) leaves little room below the limit, the search must end with a
    // size or an error.
    for (const index_t step :
         {index_t{79792266297612001}, index_t{3} << 56, index_t{7} << 55, limit, limit / 2}) {
        try {
            const index_t size = good_fft_size(limit - 5, step);
            CHECK(size >= limit - 5);
            CHECK(size % step == 0);
        } catch (const InvalidArgument&) {
        }
    }
}
