// SPDX-License-Identifier: Apache-2.0
// Compares store_row with its definition, element by element, for every pair of types.

#include <cmath>
#include <cstring>

#include "core/pixels/rows.hpp"
#include "tests/catch.hpp"
#include "tests/core/row_types.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

/// Rounds halves to even by hand, in more bits than any type here has.
long double round_even(long double v) {
    const long double below = std::floor(v);
    const long double rest = v - below;
    if (rest != 0.5L) return rest < 0.5L ? below : below + 1;
    return std::fmod(below, 2.0L) == 0 ? below : below + 1;
}

template <class S, class T>
S expected_integer(T value, ClampCount& clamped) {
    if (std::isnan(value)) {
        ++clamped.low;
        return 0;
    }
    const long double rounded = std::isinf(value) ? static_cast<long double>(value)
                                                  : round_even(static_cast<long double>(value));
    if (rounded < static_cast<long double>(std::numeric_limits<S>::min())) {
        ++clamped.low;
        return std::numeric_limits<S>::min();
    }
    if (rounded > static_cast<long double>(std::numeric_limits<S>::max())) {
        ++clamped.high;
        return std::numeric_limits<S>::max();
    }
    return static_cast<S>(rounded);
}

/// Draws values around the limits of S, ties, NaN and infinities.
template <class S, class T>
T any_value(Random& random) {
    if constexpr (std::is_integral_v<S>) {
        const auto low = static_cast<T>(std::numeric_limits<S>::min());
        const auto high = static_cast<T>(std::numeric_limits<S>::max());
        const auto off = static_cast<T>(random.integer(-6, 6)) / 4;
        switch (random.integer(0, 9)) {
            case 0:
                return low + off;
            case 1:
                return high + off;
            case 2:
                return std::nextafter(high, T{0});
            case 3:
                return std::nextafter(high, std::numeric_limits<T>::max());
            case 4:
                return std::nextafter(low, std::numeric_limits<T>::lowest());
            case 5:
                return random.pick({std::numeric_limits<T>::quiet_NaN(),
                                    std::numeric_limits<T>::infinity(),
                                    -std::numeric_limits<T>::infinity(), T(1e30), T(-1e30)});
            case 6:
                return static_cast<T>(random.integer(-100, 100)) / 2;
            default:
                return low + static_cast<T>(random.uniform()) * (high - low);
        }
    } else {
        return static_cast<T>((random.uniform() - 0.5) * 1e6);
    }
}

template <class T, class S>
void check_stored(Random& random) {
    using Real = RealOf<T>;
    using Target = RealOf<S>;
    const index_t count = random.integer(1, 150);
    const index_t step = random.pick<index_t>({1, 1, 1, -1, 2});
    const index_t width = count + 5;
    std::vector<S> storage(static_cast<std::size_t>(2 * width * std::abs(step)), S(9));
    ImageView target{storage.data(),
                     pixel_type_of_v<S>,
                     {2, 1, width},
                     {width * std::abs(step), width * std::abs(step), step}};
    if (step < 0) target.data = target.at(0, 0, -(width - 1));
    const double add = random.pick({0.0, 0.0, 0.5, -7.25});
    const index_t x_begin = random.integer(0, 5);
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& v : values) {
        if constexpr (is_complex_type<T>) {
            v = {any_value<Target, Real>(random), any_value<Target, Real>(random)};
        } else {
            v = any_value<Target, T>(random);
        }
    }
    INFO(to_string(pixel_type_of_v<T>) << " to " << to_string(target.type) << ", count " << count
                                       << ", stride " << step << ", add " << add);
    const ClampCount got = pixels::store_row(values.data(), count, add, target, 1, 0, x_begin);
    ClampCount want;
    for (index_t i = 0; i < count; ++i) {
        const T value = values[static_cast<std::size_t>(i)];
        const Real real = std::real(value) + static_cast<Real>(add);
        S stored;
        std::memcpy(&stored, target.at(1, 0, x_begin + i), sizeof stored);
        S wanted;
        if constexpr (std::is_integral_v<S>) {
            wanted = expected_integer<S>(real, want);
        } else if constexpr (is_complex_type<S>) {
            wanted = {static_cast<Target>(real), static_cast<Target>(std::imag(value))};
        } else {
            wanted = static_cast<S>(real);
        }
        INFO("value " << i << ": " << value << ", want " << +wanted << ", got " << +stored);
        REQUIRE((wanted == stored));
    }
    CHECK(got.low == want.low);
    CHECK(got.high == want.high);
    // Samples beside the row are not written.
    const auto neighbor = [&](index_t x) {
        S value;
        std::memcpy(&value, target.at(1, 0, x), sizeof value);
        return value;
    };
    if (x_begin > 0) CHECK((neighbor(x_begin - 1) == S(9)));
    if (x_begin + count < width) CHECK((neighbor(x_begin + count) == S(9)));
}

template <class T>
void check_targets(Random& random) {
    if constexpr (!is_complex_type<T>) {
        check_stored<T, std::uint8_t>(random);
        check_stored<T, std::int8_t>(random);
        check_stored<T, std::uint16_t>(random);
        check_stored<T, std::int16_t>(random);
        check_stored<T, std::uint32_t>(random);
        check_stored<T, std::int32_t>(random);
        check_stored<T, float>(random);
        check_stored<T, double>(random);
    }
    check_stored<T, std::complex<float>>(random);
    check_stored<T, std::complex<double>>(random);
}

}  // namespace

TEST_CASE("rows are rounded, clamped and counted for every type", "[rows][long]") {
    Random random(test_seed("store_row"));
    for (int trial = 0; trial < 150; ++trial) {
        check_targets<float>(random);
        check_targets<double>(random);
        check_targets<std::complex<float>>(random);
        check_targets<std::complex<double>>(random);
    }
}

TEST_CASE("floats beyond 32-bit integers are clamped, not wrapped", "[rows]") {
    const std::vector<float> values(40, 4294967296.0f);
    std::vector<std::uint32_t> stored(40);
    const auto clamped =
        pixels::store_row(values.data(), 40, 0, view_of(stored.data(), {1, 1, 40}), 0, 0);
    CHECK(clamped.high == 40);
    for (const std::uint32_t v : stored) CHECK(v == 4294967295u);
}

TEST_CASE("complex rows cannot be stored as real ones", "[rows]") {
    const std::complex<float> values[] = {1, 2};
    float stored[2];
    CHECK_THROWS_AS(pixels::store_row(values, 2, 0, view_of(stored, {1, 1, 2}), 0, 0),
                    InvalidArgument);
}
