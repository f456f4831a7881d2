// SPDX-License-Identifier: Apache-2.0
// Tests views in memory as sources and sinks, and the check of boxes.

#include <numeric>
#include <vector>

#include "convolume/image_stream.hpp"
#include "tests/catch.hpp"

namespace convolume {

TEST_CASE("image streams: boxes of a view can be read and written") {
    std::vector<int> from(4 * 5 * 6), to(from.size(), -1);
    std::iota(from.begin(), from.end(), 0);
    const Shape3 shape{4, 5, 6};
    ViewSource source(view_of(from.data(), shape));
    ViewSink sink(view_of(to.data(), shape));
    const Box3 box{{1, 0, 2}, {3, 5, 4}};
    std::vector<int> piece(2 * 5 * 2);
    source.read_box(0, 0, box, view_of(piece.data(), box.shape()));
    CHECK(piece[0] == 1 * 30 + 0 * 6 + 2);
    CHECK(piece.back() == 2 * 30 + 4 * 6 + 3);
    sink.write_box(0, 0, box, view_of(piece.data(), box.shape()));
    for (index_t i = 0; i < 120; ++i) {
        const index_t z = i / 30, x = i % 6;
        const bool inside = z >= 1 && z < 3 && x >= 2 && x < 4;
        CHECK(to[static_cast<std::size_t>(i)] == (inside ? i : -1));
    }
}

TEST_CASE("image streams: boxes that do not exist are refused") {
    std::vector<float> samples(24);
    const Shape3 shape{2, 3, 4};
    ViewSource source(view_of(samples.data(), shape));
    std::vector<float> target(24);
    const auto read = [&](index_t t, index_t c, const Box3& box, const Shape3& as) {
        source.read_box(t, c, box, view_of(target.data(), as));
    };
    CHECK_NOTHROW(read(0, 0, {{0, 0, 0}, shape}, shape));
    CHECK_NOTHROW(read(0, 0, {{1, 1, 1}, {1, 3, 4}}, {0, 2, 3}));
    CHECK_THROWS_AS(read(1, 0, {{0, 0, 0}, shape}, shape), InvalidArgument);
    CHECK_THROWS_AS(read(0, -1, {{0, 0, 0}, shape}, shape), InvalidArgument);
    CHECK_THROWS_AS(read(0, 0, {{0, 0, 1}, {2, 3, 5}}, shape), InvalidArgument);
    CHECK_THROWS_AS(read(0, 0, {{-1, 0, 0}, {1, 3, 4}}, shape), InvalidArgument);
    CHECK_THROWS_AS(read(0, 0, {{0, 0, 0}, shape}, {2, 3, 3}), InvalidArgument);
    std::vector<int> integers(24);
    CHECK_THROWS_AS(source.read_box(0, 0, {{0, 0, 0}, shape}, view_of(integers.data(), shape)),
                    InvalidArgument);
}

}  // namespace convolume
