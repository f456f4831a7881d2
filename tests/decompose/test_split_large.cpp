// SPDX-License-Identifier: Apache-2.0
// Splits volumes large enough for stores that bypass the caches, with and without aligned rows.

#include "tests/catch.hpp"
#include "tests/decompose/split_support.hpp"

using namespace convolume;
using namespace convolume::testing;
using decompose::SplitLayout;

namespace {

float sample(index_t i) {
    return static_cast<float>(i * 2654435761 % 1009) - 504;
}

void check(const Shape3& shape, int parts, bool complex_data, index_t columns) {
    INFO(to_string(shape) << ", P = " << parts << ", columns " << columns);
    const index_t components = complex_data ? 2 : 1;
    const PixelType type = pixel_type(Precision::float32, complex_data);
    Volume source(shape, type);
    auto* values = static_cast<float*>(source.view().data);
    const index_t count = element_count(shape) * components;
    for (index_t i = 0; i < count; ++i) values[i] = sample(i);
    const SplitLayout layout{complex_data, parts, round_up(shape.z, 2 * parts), shape.y, columns};
    const Buffer data(layout.samples() * components * 4);
    decompose::split(whole_input(source.view()), layout, data.as<float>(), 2, {});
    for (index_t i = 0; i < count; ++i) values[i] = 0;
    decompose::merge(data.as<const float>(), layout, 0, {source.view()}, 2, {});
    double worst = 0;
    for (index_t i = 0; i < count; ++i) {
        worst = std::max(worst, static_cast<double>(std::abs(values[i] - sample(i))));
    }
    CHECK(worst < 1e-3);
}

}  // namespace

TEST_CASE("volumes stored past the caches come back whole", "[split][merge]") {
    for (const int parts : {1, 2, 4, 8, 16}) {
        check({61, 256, 576}, parts, false, 576);  // rows are whole cache lines
        check({61, 256, 571}, parts, false, 573);  // rows do not begin at cache lines
        check({64, 256, 560}, parts, false, 565);  // whole SIMD vectors, unaligned
    }
    check({32, 256, 571}, 4, true, 573);
    check({32, 256, 576}, 16, true, 576);
}
