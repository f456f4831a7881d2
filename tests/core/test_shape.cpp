// SPDX-License-Identifier: Apache-2.0
#include <complex>
#include <limits>
#include <numeric>
#include <sstream>
#include <vector>

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
    std::ostringstream printed;
    printed << Shape3{240, 480, 1} << '\n';
    CHECK(printed.str() == "240×480×1\n");
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

TEST_CASE("typed views give elements and rows of any strides") {
    std::vector<std::int16_t> memory(4 * 5 * 6);
    std::iota(memory.begin(), memory.end(), std::int16_t{0});
    const ImageView view = view_of(memory.data(), Shape3{4, 5, 6});
    const ImageView part = subview(view, {{1, 2, 3}, {3, 5, 6}});
    CHECK(part.at<std::int16_t>(1, 2, 2) == 2 * 30 + 4 * 6 + 5);
    part.at<std::int16_t>(0, 0, 1) = -7;
    CHECK(memory[1 * 30 + 2 * 6 + 4] == -7);

    const std::span<std::int16_t> row = part.row<std::int16_t>(1, 0);
    CHECK(row.size() == 3);
    CHECK(row.data() == &memory[2 * 30 + 2 * 6 + 3]);
    row[2] = -8;
    const std::span<const std::int16_t> same = ConstImageView(part).row<std::int16_t>(1, 0);
    CHECK(same.back() == -8);

    const ConstImageView transposed{memory.data(), PixelType::int16, {6, 5, 4}, {1, 6, 30}};
    CHECK(&transposed.at<std::int16_t>(5, 4, 3) == &memory.back());
    // A column is a row of one element.
    const ConstImageView column{memory.data(), PixelType::int16, {4, 5, 1}, {30, 6, 99}};
    CHECK(column.row<std::int16_t>(3, 4).data() == &memory[3 * 30 + 4 * 6]);
    std::complex<double> number{1, 2};
    CHECK(view_of(&number, {1, 1, 1}).at<std::complex<double>>(0, 0, 0).imag() == 2);
}

TEST_CASE("typed views refuse other types, positions outside, and rows with gaps") {
    using testing::contains;
    using testing::message_of;
    std::vector<float> memory(4 * 5 * 6);
    const ImageView view = view_of(memory.data(), Shape3{4, 5, 6});
    CHECK(contains(message_of<InvalidArgument>([&] { view.at<double>(0, 0, 0); }),
                   "float32 was read as float64"));
    CHECK(contains(message_of<InvalidArgument>([&] { view.row<std::uint16_t>(0, 0); }),
                   "float32 was read as uint16"));
    for (const Index3& outside : {Index3{4, 0, 0}, Index3{0, 5, 0}, Index3{0, 0, 6},
                                  Index3{-1, 0, 0}, Index3{0, -1, 0}, Index3{0, 0, -1}}) {
        CAPTURE(outside);
        CHECK_THROWS_AS(view.at<float>(outside.z, outside.y, outside.x), InvalidArgument);
        CHECK_THROWS_AS(ConstImageView(view).at<float>(outside.z, outside.y, outside.x),
                        InvalidArgument);
        if (outside.x == 0) CHECK_THROWS_AS(view.row<float>(outside.z, outside.y), InvalidArgument);
    }
    CHECK(contains(message_of<InvalidArgument>([&] { view.at<float>(3, 5, 0); }),
                   "no element 5 along y of an image of 4×5×6"));
    const ImageView transposed{memory.data(), PixelType::float32, {6, 5, 4}, {1, 6, 30}};
    CHECK(contains(message_of<InvalidArgument>([&] { transposed.row<float>(0, 0); }), "30 apart"));
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
