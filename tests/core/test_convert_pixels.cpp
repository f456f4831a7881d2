// SPDX-License-Identifier: Apache-2.0
// Compares convert_pixels() for every pair of types with conversions in double, element by element.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "convolume/image_view.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

const double nan_value = std::numeric_limits<double>::quiet_NaN();
const double infinity = std::numeric_limits<double>::infinity();

struct Range {
    double low;
    double high;
};
/// Returns the values that an integer type holds.
Range range_of(PixelType type) {
    switch (type) {
        case PixelType::uint8:
            return {0, 255};
        case PixelType::int8:
            return {-128, 127};
        case PixelType::uint16:
            return {0, 65535};
        case PixelType::int16:
            return {-32768, 32767};
        case PixelType::uint32:
            return {0, 4294967295.0};
        case PixelType::int32:
            return {-2147483648.0, 2147483647.0};
        default:
            return {-infinity, infinity};
    }
}

double half_to_even(double value) {
    const double below = std::floor(value);
    const double rest = value - below;
    if (rest != 0.5) return rest < 0.5 ? below : below + 1;
    return std::fmod(below, 2) == 0 ? below : below + 1;
}

/// Returns the result of converting a value to `type`, and counts it if it is clamped.
Complex expected(const Complex& value, PixelType type, ClampCount& clamped) {
    const auto as_float = [](double v) { return static_cast<double>(static_cast<float>(v)); };
    const double real = value.real();
    switch (type) {
        case PixelType::float32:
            return as_float(real);
        case PixelType::float64:
            return real;
        case PixelType::complex64:
            return {as_float(real), as_float(value.imag())};
        case PixelType::complex128:
            return value;
        default:
            break;
    }
    const Range range = range_of(type);
    if (std::isnan(real)) {
        ++clamped.low;
        return 0;
    }
    if (std::isinf(real) || half_to_even(real) < range.low || half_to_even(real) > range.high) {
        ++(real < 0 ? clamped.low : clamped.high);
        return real < 0 ? range.low : range.high;
    }
    return half_to_even(real);
}

/// Draws ties, limits of all integer types, NaN and infinities, as far as `type` holds them.
double any_value(Random& random, PixelType type) {
    const double values[] = {0,          -0.5,        0.5,          1.5,          2.5,
                             -1.5,       -2.5,        126.5,        127.5,        128,
                             -128.5,     -129,        254.5,        255.5,        256,
                             32767.5,    -32768.5,    65534.5,      65535.5,      65536,
                             2147483647, 2147483648,  2147483646.5, -2147483648., -2147483649.,
                             4294967295, 4294967294., 4294967296,   4294967295.5, 1e30,
                             -1e30,      infinity,    -infinity,    nan_value,    0.49999997};
    double value = values[random.integer(0, static_cast<index_t>(std::size(values)) - 1)];
    if (random.chance(0.3)) value = (random.uniform() - 0.5) * 600;
    if (!is_integer(type)) return value;
    const Range range = range_of(type);
    if (std::isnan(value)) return range.low;
    return std::clamp(std::floor(value), range.low, range.high);
}

/// Returns a view with gaps between its elements, its axes in any order and direction, in `memory`.
ImageView strided(Random& random, const Shape3& shape, PixelType type, std::vector<char>& memory) {
    const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const auto& order = orders[random.integer(0, 5)];
    ImageView view{nullptr, type, shape, {}};
    index_t step = random.integer(1, 3);
    index_t first = 0;
    for (int i = 2; i >= 0; --i) {
        const int axis = order[i];
        const bool reverse = random.chance(0.3);
        if (reverse) first += (shape[axis] - 1) * step;
        view.strides[axis] = reverse ? -step : step;
        step = step * shape[axis] + random.integer(0, 3);
    }
    const auto bytes = static_cast<index_t>(size_of(type));
    memory.assign(static_cast<std::size_t>((step + 3) * bytes), 0x5A);
    view.data = memory.data() + first * bytes;
    return view;
}

bool same(const Complex& a, const Complex& b) {
    const auto equal = [](double x, double y) {
        return x == y || (std::isnan(x) && std::isnan(y));
    };
    return equal(a.real(), b.real()) && equal(a.imag(), b.imag());
}

void check_pair(Random& random, PixelType from, PixelType to) {
    const Shape3 shape{random.integer(1, 4), random.integer(1, 5), random.integer(1, 40)};
    Array values(shape);
    for (Complex& value : values.values)
        value = {any_value(random, from), is_complex(from) ? any_value(random, from) : 0};
    std::vector<char> source_memory, target_memory;
    const ImageView source = strided(random, shape, from, source_memory);
    store(values, source);
    const Array held = to_array(source);  // `values`, rounded if the source is float32
    const ImageView target = strided(random, shape, to, target_memory);
    const int threads = static_cast<int>(random.integer(0, 3));
    INFO(to_string(from) << " to " << to_string(to) << ", " << to_string(shape) << ", " << threads
                         << " threads");
    const ClampCount got = convert_pixels(source, target, threads);

    ClampCount want;
    const Array results = to_array(target);
    for (std::size_t i = 0; i < held.values.size(); ++i) {
        const Complex wanted = expected(held.values[i], to, want);
        INFO("element " << i << ": " << held.values[i] << ", want " << wanted << ", got "
                        << results.values[i]);
        REQUIRE(same(results.values[i], wanted));
    }
    CHECK(got.low == want.low);
    CHECK(got.high == want.high);
    // Bytes between the elements did not change.
    std::vector<char> untouched = target_memory;
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x)
                std::memset(untouched.data() +
                                (static_cast<char*>(target.at(z, y, x)) - target_memory.data()),
                            0x5A, size_of(to));
    CHECK(untouched == std::vector<char>(target_memory.size(), 0x5A));
}

}  // namespace

TEST_CASE("pixels of every type become pixels of every other, rounded, clamped and counted") {
    Random random(test_seed("convert_pixels"));
    for (int from = 0; from < 10; ++from)
        for (int to = 0; to < 10; ++to) {
            const auto a = static_cast<PixelType>(from), b = static_cast<PixelType>(to);
            if (is_complex(a) && !is_complex(b)) continue;
            for (int trial = 0; trial < 15; ++trial) check_pair(random, a, b);
        }
}

TEST_CASE("halves are rounded to even, and values outside the range are counted") {
    const double values[] = {-0.5,  0.5, 1.5,      2.5,       254.5,    255.49,
                             255.5, 300, infinity, nan_value, -0.50001, -infinity};
    std::uint8_t pixels[12] = {};
    const ClampCount clamped =
        convert_pixels(view_of(values, {1, 1, 12}), view_of(pixels, {1, 1, 12}));
    const std::uint8_t wanted[12] = {0, 0, 2, 2, 254, 255, 255, 255, 255, 0, 0, 0};
    CHECK(std::memcmp(pixels, wanted, 12) == 0);
    CHECK(clamped.low == 3);   // counts NaN, -0.50001 and -infinity
    CHECK(clamped.high == 3);  // counts 255.5, 300 and infinity
}

TEST_CASE("a source with strides of zero repeats one element") {
    const float one = 7.25F;
    const ConstImageView repeated{&one, PixelType::float32, {2, 3, 4}, {0, 0, 0}};
    std::vector<double> pixels(24, -1);
    convert_pixels(repeated, view_of(pixels.data(), {2, 3, 4}), 2);
    CHECK(pixels == std::vector<double>(24, 7.25));
}

TEST_CASE("counts of clamped values add up") {
    ClampCount sum{1, 20};
    sum += ClampCount{2, 0};
    sum += ClampCount{0, 300};
    CHECK(sum.low == 3);
    CHECK(sum.high == 320);
    CHECK(ClampCount{}.low == 0);
    CHECK(ClampCount{}.high == 0);
    // Counts of rows that different threads convert.
    const std::vector<float> high(1000, 1e9F);
    std::vector<std::int16_t> pixels(1000);
    const ClampCount clamped =
        convert_pixels(view_of(high.data(), {10, 10, 10}), view_of(pixels.data(), {10, 10, 10}), 4);
    CHECK(clamped.high == 1000);
    CHECK(clamped.low == 0);
}

TEST_CASE("conversions from complex to real and between shapes are refused") {
    std::vector<std::complex<float>> numbers(24);
    std::vector<float> reals(24);
    const ImageView complex_image = view_of(numbers.data(), {2, 3, 4});
    const ImageView real_image = view_of(reals.data(), {2, 3, 4});
    const std::string to_real =
        message_of<InvalidArgument>([&] { convert_pixels(complex_image, real_image); });
    INFO(to_real);
    CHECK(contains(to_real, "complex"));
    CHECK(contains(to_real, "float32"));
    const std::string other_shape = message_of<InvalidArgument>([&] {
        convert_pixels(real_image, view_of(numbers.data(), {2, 4, 3}));
    });
    INFO(other_shape);
    CHECK(contains(other_shape, "2×3×4"));
    CHECK(contains(other_shape, "2×4×3"));
    // An empty image is converted even if it has no data.
    const ClampCount none =
        convert_pixels(ConstImageView{nullptr, PixelType::float32, {0, 3, 4}, {}},
                       ImageView{nullptr, PixelType::uint8, {0, 3, 4}, {}});
    CHECK(none.low + none.high == 0);
}
