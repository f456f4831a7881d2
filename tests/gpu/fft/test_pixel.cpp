// SPDX-License-Identifier: Apache-2.0
#include <complex>
#include <cstdint>
#include <vector>

#include "gpu/fft/pixel.hpp"
#include "tests/catch.hpp"

namespace convolume::gpu {

namespace {

template <class S, class Real>
S stored(double value, ClampTally& tally) {
    std::vector<S> pixels(3, S(1));
    store_pixel<Real>(pixels.data(), pixel_type_of_v<S>, 1, {static_cast<Real>(value), 9}, tally);
    CHECK(pixels[0] == S(1));
    CHECK(pixels[2] == S(1));
    return pixels[1];
}

}  // namespace

TEST_CASE("integers are rounded half to even and clamped") {
    ClampTally tally;
    CHECK(stored<std::uint8_t, float>(2.5, tally) == 2);
    CHECK(stored<std::uint8_t, float>(3.5, tally) == 4);
    CHECK(stored<std::int16_t, double>(-2.5, tally) == -2);
    CHECK(stored<std::uint8_t, float>(-0.5, tally) == 0);
    CHECK(stored<std::uint8_t, float>(255.49f, tally) == 255);
    CHECK(tally.low == 0);
    CHECK(tally.high == 0);
    CHECK(stored<std::uint8_t, float>(255.51f, tally) == 255);
    CHECK(stored<std::int32_t, float>(2147483648.0, tally) == 2147483647);
    CHECK(stored<std::uint32_t, float>(4294967296.0, tally) == 4294967295u);
    CHECK(tally.high == 3);
    CHECK(stored<std::uint32_t, float>(4294967040.0, tally) == 4294967040u);
    CHECK(stored<std::int32_t, double>(2147483647.0, tally) == 2147483647);
    CHECK(tally.high == 3);
    CHECK(stored<std::int8_t, float>(-128.6f, tally) == -128);
    CHECK(stored<std::int8_t, float>(NAN, tally) == 0);
    CHECK(stored<std::uint16_t, double>(-INFINITY, tally) == 0);
    CHECK(tally.low == 3);
}

TEST_CASE("pixels of every type are loaded as their values") {
    const std::vector<std::complex<float>> complex_pixels{{1, 2}, {3, 4}, {NAN, 5}};
    const auto load = [&](index_t i, LoadRule<double> rule) {
        return load_pixel<double>(complex_pixels.data(), PixelType::complex64, i, rule);
    };
    CHECK(load(1, {0.5, false}).re == 2.5);
    CHECK(load(1, {0.5, false}).im == 4);
    CHECK(load(2, {0.5, true}).re == -0.5);
    CHECK(load(2, {0.5, true}).im == 0);
    const std::uint16_t pixel = 65535;
    CHECK(load_pixel<float>(&pixel, PixelType::uint16, 0, LoadRule<float>{}).re == 65535);
    const double infinite = INFINITY;
    CHECK(load_pixel<float>(&infinite, PixelType::float64, 0, LoadRule<float>{1, true}).re == -1);
}

}  // namespace convolume::gpu
