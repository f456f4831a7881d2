// SPDX-License-Identifier: Apache-2.0
// Tests overlap(): whether the address ranges of two views intersect.

#include <cstdint>
#include <limits>
#include <vector>

#include "convolume/image_view.hpp"
#include "tests/catch.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

TEST_CASE("views whose elements may be the same memory") {
    std::vector<float> memory(100);
    const auto repeats = [&](const Shape3& shape, const Index3& strides) {
        return may_repeat_elements({memory.data(), PixelType::float32, shape, strides});
    };
    CHECK(!repeats({2, 3, 4}, {12, 4, 1}));
    CHECK(!repeats({2, 3, 4}, {1, 2, 6}));
    CHECK(!repeats({2, 3, 4}, {-12, 4, -1}));
    CHECK(!repeats({1, 3, 4}, {0, 4, 1}));
    CHECK(!repeats({0, 3, 4}, {0, 0, 0}));
    CHECK(repeats({2, 3, 4}, {0, 4, 1}));
    CHECK(repeats({1, 1, 2}, {1, 1, 0}));
    CHECK(repeats({2, 3, 1}, {5, 5, 1}));
    CHECK(repeats({1, 3, 4}, {12, 3, 1}));
}

namespace {

/// Computes the expected answer from the address of every element.
bool overlap_by_elements(const ConstImageView& a, const ConstImageView& b) {
    struct Bytes {
        const char* first = nullptr;
        const char* last = nullptr;
    };
    const auto bytes_of = [](const ConstImageView& view) {
        Bytes bytes;
        for (index_t z = 0; z < view.shape.z; ++z)
            for (index_t y = 0; y < view.shape.y; ++y)
                for (index_t x = 0; x < view.shape.x; ++x) {
                    const auto* const first = static_cast<const char*>(view.at(z, y, x));
                    const char* const last = first + size_of(view.type) - 1;
                    if (!bytes.first || first < bytes.first) bytes.first = first;
                    if (!bytes.last || last > bytes.last) bytes.last = last;
                }
        return bytes;
    };
    const Bytes of_a = bytes_of(a);
    const Bytes of_b = bytes_of(b);
    if (!of_a.first || !of_b.first) return false;
    return of_a.first <= of_b.last && of_b.first <= of_a.last;
}

bool both_ways(const ConstImageView& a, const ConstImageView& b) {
    const bool answer = overlap(a, b);
    CHECK(overlap(b, a) == answer);
    return answer;
}

}  // namespace

TEST_CASE("overlap: equal views and views that share an end overlap, neighbors do not") {
    std::vector<float> memory(60);
    const auto at = [&](index_t first, const Shape3& shape) {
        return view_of(memory.data() + first, shape);
    };
    const ImageView middle = at(20, {2, 2, 5});
    CHECK(both_ways(middle, middle));
    CHECK(both_ways(middle, at(39, {2, 2, 5})));        // shares the last element of `middle`
    CHECK(both_ways(middle, at(1, {2, 2, 5})));         // shares the first element of `middle`
    CHECK(both_ways(middle, at(25, {1, 1, 1})));        // lies inside `middle`
    CHECK_FALSE(both_ways(middle, at(40, {2, 2, 5})));  // begins right behind `middle`
    CHECK_FALSE(both_ways(middle, at(0, {2, 2, 5})));   // ends right in front of `middle`
}

TEST_CASE("overlap: a single shared byte counts, for all types") {
    std::vector<double> memory(4);
    auto* const bytes = reinterpret_cast<std::uint8_t*>(memory.data());
    const ImageView two = view_of(memory.data() + 1, Shape3{1, 1, 2});
    CHECK(both_ways(two, view_of(bytes + 8, Shape3{1, 1, 1})));
    CHECK(both_ways(two, view_of(bytes + 23, Shape3{1, 1, 1})));
    CHECK_FALSE(both_ways(two, view_of(bytes + 7, Shape3{1, 1, 1})));
    CHECK_FALSE(both_ways(two, view_of(bytes + 24, Shape3{1, 1, 1})));
}

TEST_CASE("overlap: empty views overlap with no view") {
    std::vector<float> memory(8);
    const ImageView all = view_of(memory.data(), Shape3{2, 2, 2});
    for (const Shape3& shape : {Shape3{0, 2, 2}, Shape3{2, 0, 2}, Shape3{2, 2, 0}}) {
        ImageView empty = all;
        empty.shape = shape;
        CHECK_FALSE(both_ways(all, empty));
        CHECK_FALSE(both_ways(empty, empty));
    }
}

TEST_CASE("overlap: interleaved views overlap, and reversed views begin at their last element") {
    std::vector<float> memory(24);
    // Even and odd elements: they share no element, but their address ranges intersect.
    const ImageView even{memory.data(), PixelType::float32, {1, 1, 12}, {24, 24, 2}};
    const ImageView odd{memory.data() + 1, PixelType::float32, {1, 1, 12}, {24, 24, 2}};
    CHECK(both_ways(even, odd));
    // The left and right halves of rows: their address ranges intersect, too.
    const ImageView rows = view_of(memory.data(), Shape3{1, 4, 6});
    CHECK(both_ways(subview(rows, {{0, 0, 0}, {1, 4, 3}}), subview(rows, {{0, 0, 3}, {1, 4, 6}})));
    // Upper and lower rows do not overlap.
    CHECK_FALSE(
        both_ways(subview(rows, {{0, 0, 0}, {1, 2, 6}}), subview(rows, {{0, 2, 0}, {1, 4, 6}})));

    // Elements 11 … 0: the first element is the last in memory.
    const ImageView reversed{memory.data() + 11, PixelType::float32, {1, 1, 12}, {1, 1, -1}};
    CHECK(both_ways(reversed, view_of(memory.data(), Shape3{1, 1, 1})));
    CHECK_FALSE(both_ways(reversed, view_of(memory.data() + 12, Shape3{1, 1, 12})));
    // A view with strides of 0 repeats one element as a whole image.
    const ImageView repeated{memory.data() + 5, PixelType::float32, {3, 3, 3}, {0, 0, 0}};
    CHECK_FALSE(both_ways(repeated, view_of(memory.data() + 6, Shape3{1, 1, 4})));
    CHECK_FALSE(both_ways(repeated, view_of(memory.data(), Shape3{1, 1, 5})));
    CHECK(both_ways(repeated, view_of(memory.data() + 4, Shape3{1, 1, 2})));
}

TEST_CASE("overlap: random views agree with the addresses of all elements") {
    Random random(test_seed("overlap"));
    std::vector<std::complex<double>> memory(4000);
    auto* const middle = reinterpret_cast<char*>(memory.data() + 2000);
    int met = 0;
    constexpr int trials = 5000;
    for (int trial = 0; trial < trials; ++trial) {
        const auto any_view = [&] {
            ConstImageView view;
            view.type = static_cast<PixelType>(random.integer(0, 9));
            view.data = middle + 16 * random.integer(-30, 30);
            for (int axis = 0; axis < 3; ++axis) {
                view.shape[axis] = random.chance(0.03) ? 0 : random.integer(1, 4);
                view.strides[axis] = random.integer(-12, 12);
            }
            return view;
        };
        const ConstImageView a = any_view(), b = any_view();
        const bool want = overlap_by_elements(a, b);
        met += want;
        INFO("trial " << trial << ": " << to_string(a.type) << " " << to_string(a.shape) << " and "
                      << to_string(b.type) << " " << to_string(b.shape));
        REQUIRE(overlap(a, b) == want);
    }
    CHECK(met > trials / 10);
    CHECK(met < trials / 10 * 9);
}
