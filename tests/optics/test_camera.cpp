// SPDX-License-Identifier: Apache-2.0
// Tests recorded pixels: arithmetic, noise, saturation, independence of threads and of slabs.

#include <cmath>
#include <cstring>

#include "convolume/camera.hpp"
#include "convolume/error.hpp"
#include "convolume/volume.hpp"
#include "tests/catch.hpp"
#include "tests/support/volumes.hpp"

using namespace convolume;

namespace {

Volume constant_photons(const Shape3& shape, float photons) {
    Volume volume(shape, PixelType::float32);
    float* values = volume.elements<float>();
    for (index_t i = 0; i < element_count(shape); ++i) values[i] = photons;
    return volume;
}

Volume ramp_photons(const Shape3& shape) {
    Volume volume(shape, PixelType::float32);
    float* values = volume.elements<float>();
    for (index_t i = 0; i < element_count(shape); ++i) values[i] = 0.37f * static_cast<float>(i);
    return volume;
}

struct Moments {
    double mean = 0;
    double variance = 0;
};

Moments moments_of(const Volume& adu) {
    const float* values = adu.elements<float>();
    const auto count = static_cast<double>(element_count(adu.shape()));
    double sum = 0, squares = 0;
    for (index_t i = 0; i < element_count(adu.shape()); ++i) {
        const double value = static_cast<double>(values[i]);
        sum += value;
        squares += value * value;
    }
    return {sum / count, squares / count - sum / count * (sum / count)};
}

}  // namespace

TEST_CASE("without noise, recorded values follow the formula exactly") {
    Camera camera;
    camera.noise = false;
    camera.quantum_efficiency = 0.5;
    camera.background_photons = 10;
    camera.dark_e_per_s = 20;
    camera.exposure_s = 0.25;
    camera.gain_e_per_adu = 2;
    camera.offset_adu = 7;
    camera.full_well_e = 100;
    camera.bits = 8;
    const Shape3 shape{1, 1, 6};
    const float values[] = {0, 40, 41, -3, 180, 300};
    Volume adu(shape, PixelType::uint8);
    const CameraReport report = expose(camera, view_of(values, shape), 0, adu.view());
    // λ = 0.5 (S + 10) + 5; ADU = λ/2 + 7, halves to even; 100 electrons are the full well.
    const std::uint8_t expected[] = {12, 22, 22, 12, 57, 57};
    for (int i = 0; i < 6; ++i) CHECK(adu.elements<std::uint8_t>()[i] == expected[i]);
    CHECK(report.pixels == 6);
    CHECK(report.saturated == 1);
    CHECK(report.below_zero == 0);
    CHECK(report.peak_photons == 300);
    CHECK(std::abs(report.signal - (20.0 * 20 + 20.5 * 20.5 + 90 * 90)) < 1e-9);
    CHECK(std::abs(report.noise - 0.5 * 0.5) < 1e-9);  // 30.5 electrons are rounded to 30
    CHECK(std::abs(camera.signal_to_noise(40) - 20 / std::sqrt(30 + 1.6 * 1.6)) < 1e-12);

    camera.full_well_e = 1e6;
    CHECK(expose(camera, view_of(values, shape), 0, adu.view()).saturated == 0);
    camera.gain_e_per_adu = 0.5;
    // The brightest pixel would have 160/.5 + 7 ADU.
    CHECK(expose(camera, view_of(values, shape), 0, adu.view()).saturated == 1);
    CHECK(adu.elements<std::uint8_t>()[5] == 255);
}

TEST_CASE("recorded noise is shot noise, dark current and read noise") {
    const Shape3 shape{4, 128, 256};
    Camera camera;
    camera.quantum_efficiency = 0.7;
    camera.background_photons = 3;
    camera.dark_e_per_s = 40;
    camera.exposure_s = 0.5;
    camera.read_noise_e = 5;
    camera.gain_e_per_adu = 0.25;
    camera.offset_adu = 120;
    for (const float photons : {0.0f, 25.0f, 2000.0f}) {
        Volume adu(shape, PixelType::float32);
        const CameraReport report =
            expose(camera, constant_photons(shape, photons).view(), 0, adu.view());
        const Moments found = moments_of(adu);
        const double electrons = 0.7 * (static_cast<double>(photons) + 3) + 20;
        // Rounding to whole ADU adds a variance of 1/12.
        const double variance = (electrons + 25) * 16 + 1.0 / 12;
        const auto count = static_cast<double>(element_count(shape));
        INFO("photons " << photons << ", seed " << camera.seed);
        CHECK(std::abs(found.mean - (120 + 4 * electrons)) < 5 * std::sqrt(variance / count));
        CHECK(std::abs(found.variance / variance - 1) < 5 * std::sqrt(2.1 / count));
        const double db =
            10 * std::log10(std::pow(0.7 * static_cast<double>(photons), 2) / (electrons + 25));
        if (photons > 0) CHECK(std::abs(report.signal_to_noise_db() - db) < 0.1);
        CHECK(report.saturated == 0);
    }
}

TEST_CASE("read noise alone is normal, and values below zero are counted") {
    const Shape3 shape{1, 256, 256};
    Camera camera;
    camera.quantum_efficiency = 0;
    camera.dark_e_per_s = 0;
    camera.read_noise_e = 10;
    camera.gain_e_per_adu = 1;
    camera.offset_adu = 50;
    Volume adu(shape, PixelType::float32);
    CameraReport report = expose(camera, constant_photons(shape, 9).view(), 0, adu.view());
    CHECK(std::abs(moments_of(adu).mean - 50) < 5 * 10.0 / 256);
    CHECK(std::abs(moments_of(adu).variance - 100) < 5 * 100 * std::sqrt(2.0) / 256);
    CHECK(report.below_zero == 0);
    camera.offset_adu = 0;
    report = expose(camera, constant_photons(shape, 9).view(), 0, adu.view());
    // Half of the values, except those that round to 0: Φ(−0.05) = 0.48006.
    CHECK(std::abs(static_cast<double>(report.below_zero) / (256 * 256) - 0.48006) < 0.01);
    camera.read_noise_e = 0;
    report = expose(camera, constant_photons(shape, 9).view(), 0, adu.view());
    CHECK(report.noise == 0);
    CHECK(moments_of(adu).mean == 0);
}

TEST_CASE("pixels do not depend on threads, slabs or pixel types") {
    const Shape3 shape{6, 37, 41};
    const Volume photons = ramp_photons(shape);
    Camera camera;
    camera.seed = 77;
    Volume whole(shape, PixelType::uint16);
    expose(camera, photons.view(), 5, whole.view(), 1);
    for (const int threads : {2, 3, 7}) {
        Volume again(shape, PixelType::uint16);
        expose(camera, photons.view(), 5, again.view(), threads);
        CHECK(testing::same_bytes(whole, again));
    }
    Volume in_groups(shape, PixelType::uint16);
    for (const auto& [begin, end] : {std::pair<index_t, index_t>{4, 6}, {0, 1}, {1, 4}}) {
        const Box3 box{{begin, 0, 0}, {end, shape.y, shape.x}};
        expose(camera, subview(photons.view(), box), 5 + begin, subview(in_groups.view(), box));
    }
    CHECK(testing::same_bytes(whole, in_groups));

    Volume as_float(shape, PixelType::float32);
    expose(camera, photons.view(), 5, as_float.view());
    index_t differ = 0;
    for (index_t i = 0; i < element_count(shape); ++i)
        differ +=
            as_float.elements<float>()[i] != static_cast<float>(whole.elements<std::uint16_t>()[i]);
    CHECK(differ == 0);

    Volume other(shape, PixelType::uint16);
    expose(camera, photons.view(), 6, other.view());
    CHECK(!testing::same_bytes(whole, other));
    camera.seed = 78;
    expose(camera, photons.view(), 5, other.view());
    CHECK(!testing::same_bytes(whole, other));
}

TEST_CASE("impossible cameras are refused") {
    const Shape3 shape{1, 2, 2};
    const Volume photons = constant_photons(shape, 1);
    Volume adu(shape, PixelType::uint16), bytes(shape, PixelType::uint8);
    const auto refused = [&](auto change) {
        Camera camera;
        change(camera);
        CHECK_THROWS_AS(expose(camera, photons.view(), 0, adu.view()), InvalidArgument);
    };
    refused([](Camera& c) { c.quantum_efficiency = 1.1; });
    refused([](Camera& c) { c.quantum_efficiency = std::nan(""); });
    refused([](Camera& c) { c.background_photons = -1; });
    refused([](Camera& c) { c.dark_e_per_s = -1; });
    refused([](Camera& c) { c.exposure_s = -1; });
    refused([](Camera& c) { c.read_noise_e = -1; });
    refused([](Camera& c) { c.full_well_e = 0; });
    refused([](Camera& c) { c.gain_e_per_adu = 0; });
    refused([](Camera& c) { c.bits = 17; });
    refused([](Camera& c) { c.bits = 0; });
    refused([](Camera& c) { c.offset_adu = 65536; });
    CHECK_THROWS_AS(expose(Camera{}, photons.view(), 0, bytes.view()), InvalidArgument);
    CHECK_THROWS_AS(expose(Camera{}, adu.view(), 0, adu.view()), InvalidArgument);
    Volume small({1, 1, 2}, PixelType::uint16);
    CHECK_THROWS_AS(expose(Camera{}, photons.view(), 0, small.view()), InvalidArgument);
    Volume both({2, 2, 2}, PixelType::float32);
    const ImageView light = subview(both.view(), {{0, 0, 0}, shape});
    ImageView repeated = adu.view(), shifted = light;
    repeated.strides.x = 0;
    CHECK_THROWS_AS(expose(Camera{}, photons.view(), 0, repeated), InvalidArgument);
    shifted.data = light.at(0, 0, 1);
    CHECK_THROWS_AS(expose(Camera{}, light, 0, shifted), InvalidArgument);
    CHECK_NOTHROW(expose(Camera{}, light, 0, light));
    for (const float value : {NAN, INFINITY, -INFINITY, 1e16f})
        CHECK_THROWS_AS(expose(Camera{}, constant_photons(shape, value).view(), 0, adu.view()),
                        BadData);
}
