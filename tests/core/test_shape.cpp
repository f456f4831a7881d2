// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "convolume/error.hpp"
#include "convolume/image_view.hpp"
#include "convolume/shape.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;

namespace {
constexpr index_t largest = std::numeric_limits<index_t>::max();
}

TEST_CASE("products and sums beyond 64 bits are errors") {
    CHECK(checked_multiply(3037000499, 3037000499) == 9223372030926249001);
    CHECK(checked_multiply(0, largest) == 0);
    CHECK(checked_multiply(largest, 1) == largest);
    CHECK_THROWS_AS(checked_multiply(largest, 2), InvalidArgument);
    CHECK_THROWS_AS(checked_multiply(3037000500, 3037000500), InvalidArgument);
    CHECK_THROWS_AS(checked_multiply(index_t{1} << 32, index_t{1} << 32), InvalidArgument);
    CHECK_THROWS_AS(checked_multiply(-1, 5), InvalidArgument);
    CHECK_THROWS_AS(checked_multiply(5, -1), InvalidArgument);
    CHECK(checked_add(largest - 1, 1) == largest);
    CHECK_THROWS_AS(checked_add(largest, 1), InvalidArgument);
    CHECK_THROWS_AS(checked_add(std::numeric_limits<index_t>::lowest(), -1), InvalidArgument);
}

TEST_CASE("element counts are products of extents, and overflow is an error") {
    CHECK(element_count({4096, 8192, 8192}) == index_t{1} << 38);
    CHECK(element_count({0, 5, 7}) == 0);
    CHECK_THROWS_AS(element_count({index_t{1} << 22, index_t{1} << 21, index_t{1} << 20}),
                    InvalidArgument);
    CHECK_THROWS_AS(element_count({4, -1, 4}), InvalidArgument);
    CHECK_THROWS_AS(element_count({-4, -1, 4}), InvalidArgument);
}

TEST_CASE("shapes have strides in C order, are printed, and bound boxes") {
    CHECK(contiguous_strides({4, 5, 6}) == Index3{30, 6, 1});
    CHECK(to_string(Shape3{240, 480, 1}) == "240×480×1");
    CHECK(to_string(Shape3{240, 480, 1}, ",") == "240,480,1");
    const Box3 a{{0, 0, 0}, {4, 4, 4}}, b{{2, 3, 1}, {9, 9, 3}};
    CHECK(intersection(a, b) == Box3{{2, 3, 1}, {4, 4, 3}});
    CHECK(intersection(a, b).shape() == Shape3{2, 1, 2});
    CHECK(intersection(a, {{4, 0, 0}, {5, 1, 1}}).empty());
    CHECK(intersection(a, {{7, 0, 0}, {9, 1, 1}}).empty());
}

TEST_CASE("round_up and ceil_div are exact or an error near the largest index") {
    CHECK(ceil_div(7, 3) == 3);
    CHECK(ceil_div(6, 3) == 2);
    CHECK(ceil_div(largest, largest) == 1);
    CHECK(ceil_div(largest, 2) == (index_t{1} << 62));
    CHECK(round_up(0, 4) == 0);
    CHECK(round_up(13, 4) == 16);
}

TEST_CASE("views address strided elements") {
    std::vector<float> memory(4 * 5 * 6);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
    const ConstImageView view = view_of(static_cast<const float*>(memory.data()), Shape3{4, 5, 6});
    CHECK(is_contiguous(view));
    const ConstImageView part = subview(view, {{1, 2, 3}, {3, 5, 6}});
    CHECK(part.shape == Shape3{2, 3, 3});
    CHECK(*static_cast<const float*>(part.at(0, 0, 0)) == 1 * 30 + 2 * 6 + 3);
    CHECK(*static_cast<const float*>(part.at(1, 2, 2)) == 2 * 30 + 4 * 6 + 5);
    CHECK_FALSE(is_contiguous(part));
    const ConstImageView backwards{
        &memory[memory.size() - 1], PixelType::float32, {4, 5, 6}, {-30, -6, -1}};
    CHECK(*static_cast<const float*>(backwards.at(3, 4, 5)) == 0);
    CHECK_FALSE(is_contiguous(backwards));
    // An extent of 1 has no second element for its stride to reach.
    CHECK(is_contiguous(ConstImageView{memory.data(), PixelType::float32, {1, 5, 6}, {999, 6, 1}}));
}

TEST_CASE("pixel types know their size and name") {
    for (int i = 0; i < 10; ++i) {
        const auto type = static_cast<PixelType>(i);
        CHECK(parse_pixel_type(to_string(type)) == type);
        visit_pixel_type(type, [&](auto tag) {
            using T = typename decltype(tag)::type;
            CHECK(size_of(type) == sizeof(T));
            CHECK(pixel_type_of_v<T> == type);
            CHECK(is_integer(type) == std::is_integral_v<T>);
            CHECK(is_complex(type) == (i >= 8));
        });
    }
    CHECK_THROWS_AS(parse_pixel_type("float16"), InvalidArgument);
    CHECK(testing::contains(
        testing::message_of<InvalidArgument>([] { parse_pixel_type("float16"); }), "uint16"));
}
