// SPDX-License-Identifier: Apache-2.0
// Compares load_row with its definition, element by element, for every pair of types.

#include <cmath>
#include <cstring>

#include "core/pixels/rows.hpp"
#include "tests/catch.hpp"
#include "tests/core/row_types.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
using pixels::LoadOptions;
using pixels::RowGather;

namespace {

/// Draws any value of S, with its limits and (for floats) NaN and infinities among them.
template <class S>
S any_value(Random& random, bool finite) {
    using Real = RealOf<S>;
    if constexpr (is_complex_type<S>) {
        return {any_value<Real>(random, finite), any_value<Real>(random, finite)};
    } else if constexpr (std::is_integral_v<S>) {
        if (random.chance(0.1)) return std::numeric_limits<S>::max();
        if (random.chance(0.1)) return std::numeric_limits<S>::min();
        return static_cast<S>(
            random.integer(std::numeric_limits<S>::min(), std::numeric_limits<S>::max()));
    } else {
        if (!finite && random.chance(0.1)) {
            return random.pick({std::numeric_limits<S>::quiet_NaN(),
                                std::numeric_limits<S>::infinity(),
                                -std::numeric_limits<S>::infinity()});
        }
        return static_cast<S>((random.uniform() - 0.5) * 1e6);
    }
}

template <class T, class S>
T expected(S value, const LoadOptions& options, index_t& replaced) {
    using Real = RealOf<T>;
    const bool finite = std::isfinite(static_cast<double>(std::real(value))) &&
                        std::isfinite(static_cast<double>(std::imag(value)));
    if (options.nonfinite_to_zero && !finite) {
        ++replaced;
        value = S{};
    }
    const Real real = static_cast<Real>(std::real(value)) - static_cast<Real>(options.subtract);
    if constexpr (is_complex_type<T>)
        return {real, static_cast<Real>(std::imag(value))};
    else
        return real;
}

template <class T, class S>
void check(Random& random) {
    const index_t width = random.integer(1, 200);
    const index_t step = random.pick<index_t>({1, 1, 3});
    const LoadOptions options{random.chance(0.5) ? 0.0 : 1000.25, random.chance(0.7)};
    std::vector<S> storage(static_cast<std::size_t>(3 * width * step));
    for (S& v : storage) v = any_value<S>(random, !options.nonfinite_to_zero);
    ConstImageView source{
        storage.data(), pixel_type_of_v<S>, {3, 1, width}, {width * step, width * step, step}};
    if (random.chance(0.3)) {
        source.data = source.at(0, 0, width - 1);
        source.strides.x = -step;
    }
    std::vector<index_t> indices;
    for (index_t i = random.integer(-20, 0); i < width + random.integer(0, 20); ++i) {
        if (random.chance(0.2))
            indices.push_back(-1);
        else
            indices.push_back((i + width) % width);
        if (random.chance(0.9)) continue;
        i = random.integer(0, width);
    }
    if (random.chance(0.3)) {
        indices.clear();
        for (index_t i = 0; i < width; ++i) indices.push_back(i);
    }
    INFO(to_string(source.type) << " to " << to_string(pixel_type_of_v<T>) << ", width " << width
                                << ", stride " << source.strides.x);
    std::vector<T> got(indices.size(), T(77));
    const index_t replaced =
        pixels::load_row(source, 1, 0, RowGather(indices), options, got.data());
    index_t want_replaced = 0;
    for (std::size_t i = 0; i < indices.size(); ++i) {
        T want{};
        if (indices[i] >= 0) {
            S value;
            std::memcpy(&value, source.at(1, 0, indices[i]), sizeof value);
            want = expected<T>(value, options, want_replaced);
        }
        INFO("sample " << i << ": " << want << ", got " << got[i]);
        REQUIRE((want == got[i]));
    }
    CHECK(replaced == want_replaced);
}

template <class T>
void check_sources(Random& random) {
    check<T, std::uint8_t>(random);
    check<T, std::int8_t>(random);
    check<T, std::uint16_t>(random);
    check<T, std::int16_t>(random);
    check<T, std::uint32_t>(random);
    check<T, std::int32_t>(random);
    check<T, float>(random);
    check<T, double>(random);
    if constexpr (is_complex_type<T>) {
        check<T, std::complex<float>>(random);
        check<T, std::complex<double>>(random);
    }
}

}  // namespace

TEST_CASE("rows of every type are loaded into every other", "[rows][long]") {
    Random random(test_seed("load_row"));
    for (int trial = 0; trial < 100; ++trial) {
        check_sources<float>(random);
        check_sources<double>(random);
        check_sources<std::complex<float>>(random);
        check_sources<std::complex<double>>(random);
    }
}

TEST_CASE("without the option, non-finite samples are kept", "[rows]") {
    const float values[] = {1, NAN, INFINITY, 2};
    const RowGather gather(std::vector<index_t>{0, 1, 2, 3});
    std::vector<double> out(4);
    const auto source = view_of(values, {1, 1, 4});
    CHECK(pixels::load_row(source, 0, 0, gather, {}, out.data()) == 0);
    CHECK(std::isnan(out[1]));
    CHECK(std::isinf(out[2]));
}

TEST_CASE("complex rows cannot be loaded as real ones", "[rows]") {
    const std::complex<float> values[] = {1, 2};
    const RowGather gather(std::vector<index_t>{0, 1});
    std::vector<float> out(2);
    CHECK_THROWS_AS(pixels::load_row(view_of(values, {1, 1, 2}), 0, 0, gather, {}, out.data()),
                    InvalidArgument);
}

TEST_CASE("a gather's run is its longest stretch of neighbors", "[rows]") {
    const RowGather gather(std::vector<index_t>{-1, 2, 1, 0, 1, 2, 3, 3, 2, -1});
    CHECK(gather.size() == 10);
    CHECK(gather.run_begin() == 3);
    CHECK(gather.run_end() == 7);
    CHECK(gather.run_source() == 0);
    const RowGather holes(std::vector<index_t>{-1, -1});
    CHECK(holes.run_begin() == holes.run_end());
}
