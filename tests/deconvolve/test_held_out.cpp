// SPDX-License-Identifier: Apache-2.0
// Tests held-out photons: how they are drawn, how many photons a value stands for, and how they end
// the iterations.

#include <cmath>

#include "convolume/error.hpp"
#include "deconvolve/estimates/held_out_search.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/cases.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/oracle.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

struct Moments {
    double mean = 0;
    double variance = 0;
};

Moments moments_of_held_out(std::int64_t count, int halvings, int draws) {
    double sum = 0, squares = 0;
    for (int i = 0; i < draws; ++i) {
        deconvolve::PixelRandomBits bits(7, deconvolve::ThinningPurpose::hold_out, i);
        const auto held_out = static_cast<double>(deconvolve::drawn_photons(count, halvings, bits));
        sum += held_out;
        squares += held_out * held_out;
    }
    const double mean = sum / draws;
    return {mean, squares / draws - mean * mean};
}

// Returns Poisson counts of a ramp along x under a few bright stripes, with a gain and an offset.
Array recording(Random& random, const Shape3& shape, double gain, double offset) {
    Array image(shape);
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                const double light = 3 + 0.5 * static_cast<double>(x) +
                                     60 * std::pow(std::sin(0.1 * static_cast<double>(y)), 8);
                image(z, y, x) = poisson(random, light) / gain + offset;
            }
    return image;
}

}  // namespace

TEST_CASE(
    "deconvolve: photons are held out with the mean and variance of a binomial distribution") {
    constexpr int draws = 40000;
    for (const int halvings : {1, 3})
        for (const std::int64_t count : {0, 1, 5, 31, 32, 33, 200, 1024, 1025, 60000}) {
            const double p = std::pow(0.5, halvings);
            const double variance = static_cast<double>(count) * p * (1 - p);
            const Moments got = moments_of_held_out(count, halvings, draws);
            INFO(count << " photons, chance " << p);
            // The bounds are five standard deviations of the mean and of the variance.
            CHECK(std::abs(got.mean - static_cast<double>(count) * p) <=
                  5 * std::sqrt(variance / draws));
            CHECK(std::abs(got.variance - variance) <=
                  5 * std::sqrt((2 * variance * variance + variance) / draws));
        }
}

TEST_CASE(
    "deconvolve: the held-out and the remaining part add up to the value, and depend on the pixel "
    "alone") {
    for (const float value : {0.0F, 0.4F, 7.0F, 7.25F, 99.5F, 5000.0F, 3e6F})
        for (const index_t pixel : {index_t{0}, index_t{12345}, index_t{1} << 40}) {
            deconvolve::PixelRandomBits bits(1, deconvolve::ThinningPurpose::hold_out, pixel);
            const float part = deconvolve::drawn_value(value, 3, 1, 0, bits);
            CHECK(part >= 0);
            CHECK(part <= value);
            deconvolve::PixelRandomBits again(1, deconvolve::ThinningPurpose::hold_out, pixel);
            CHECK(deconvolve::drawn_value(value, 3, 1, 0, again) == part);
            // The held-out part is a number of whole photons and an eighth of the fraction.
            const float left = (value - std::floor(value)) / 8;
            CHECK(std::abs(part - left - std::round(part - left)) <= 1e-6F * value);
        }
    // A value that is less than a photon is divided in proportion.
    deconvolve::PixelRandomBits bits(1, deconvolve::ThinningPurpose::hold_out, 5);
    CHECK(deconvolve::drawn_value(80, 3, 2, 90, bits) == 10);
}

TEST_CASE("deconvolve: gain and offset are estimated from the noise", "[long]") {
    Random random(test_seed("gain and offset"));
    for (const auto& [gain, offset] : {std::pair{1.0, 0.0}, {0.5, 100.0}, {2.0, -3.0}})
        for (const Shape3& shape : {Shape3{20, 80, 90}, Shape3{1, 300, 320}}) {
            const Volume image =
                to_volume(recording(random, shape, gain, offset), PixelType::float32);
            const auto one = deconvolve::estimate_photon_scale(image.view(), 1);
            REQUIRE(one);
            INFO("gain " << one->gain << " for " << gain << ", offset " << one->offset << " for "
                         << offset);
            // The variance, in photons, of pixels with that many expected photons. The bound is
            // about four standard deviations of 21 seeds.
            for (const auto& [photons, bound] : {std::pair{10.0, 0.2}, {20.0, 0.1}, {60.0, 0.06}}) {
                const double seen =
                    gain * gain * (photons / gain + offset - one->offset) / one->gain;
                INFO(photons << " photons, variance " << seen);
                CHECK(std::abs(seen / photons - 1) < bound);
            }
            CHECK(one->has_offset == (offset == 100));
            if (one->has_offset) CHECK(std::abs(one->offset - offset) < 4 * one->offset_error);
            const auto three = deconvolve::estimate_photon_scale(image.view(), 3);
            CHECK(three->gain == one->gain);
        }
    const Volume dark({4, 9, 9}, PixelType::uint8);
    CHECK(!deconvolve::estimate_photon_scale(dark.view(), 1));
    const Volume point({1, 1, 1}, PixelType::float32);
    CHECK(!deconvolve::estimate_photon_scale(point.view(), 1));
}

TEST_CASE("deconvolve: noise that is not that of photons tells no offset") {
    Random random(test_seed("no offset"));
    const auto has_offset = [&](auto noise_of) {
        Array image({12, 90, 100});
        for (index_t z = 0; z < 12; ++z)
            for (index_t y = 0; y < 90; ++y)
                for (index_t x = 0; x < 100; ++x) {
                    const double light = 20 + 3 * static_cast<double>(x);
                    image(z, y, x) = light + noise_of(light) * (random.uniform() - 0.5);
                }
        const Volume volume = to_volume(image, PixelType::float32);
        const auto fit = deconvolve::estimate_photon_scale(volume.view(), 1);
        return fit && fit->has_offset;
    };
    CHECK(!has_offset([](double) { return 4.0; }));                // of the readout alone
    CHECK(!has_offset([](double light) { return 0.2 * light; }));  // in proportion to the light
    CHECK(!has_offset([](double light) { return 3 * std::sqrt(light); }));
    CHECK(has_offset([](double light) { return 3 * std::sqrt(light - 15); }));
}

TEST_CASE("deconvolve: an offset is at most the background and the darkest region") {
    Random random(test_seed("offset and background"));
    const Array image = recording(random, {12, 64, 64}, 1, 100);
    const Array psf = gaussian_psf({3, 5, 5}, {1, 2, 2}, {0.8, 1, 1});
    const auto report_of = [&](std::optional<double> background, std::optional<double> offset) {
        DeconvolveOptions options;
        options.iterations = 1;
        options.background = background;
        options.offset = offset;
        return deconvolved(image, psf, options, cpu_only()).report;
    };
    const DeconvolveReport found = report_of({}, {});
    REQUIRE(found.offset_error);
    CHECK(std::abs(found.photons.offset - 100) < 4 * *found.offset_error);
    CHECK(found.background >= found.photons.offset);
    CHECK(report_of(40, {}).photons.offset == 40);
    CHECK(report_of(0, {}).photons.offset == 0);
    const DeconvolveReport given = report_of({}, 90);
    CHECK(given.photons.offset == 90);
    CHECK(!given.offset_error);
    CHECK_THROWS_AS(report_of(80, 90), InvalidArgument);
}

TEST_CASE(
    "deconvolve: read noise lowers a given offset, for the search and its coarse images too") {
    Random random(test_seed("read noise"));
    const Array image = recording(random, {12, 64, 64}, 0.5, 100);
    const Array psf = gaussian_psf({3, 5, 5}, {1, 2, 2}, {0.8, 1, 1});
    const auto result_of = [&](double offset, double read_noise, std::optional<double> gain) {
        DeconvolveOptions options;
        options.gain = gain;
        options.background = 100;
        options.offset = offset;
        options.read_noise = read_noise;
        options.splits = 2;
        return deconvolved(image, psf, options, cpu_only());
    };
    const auto noisy = result_of(100, 3, 0.5), plain = result_of(82, 0, 0.5);
    CHECK(noisy.report.photons.offset == 82);
    CHECK(noisy.report.iterations == plain.report.iterations);
    CHECK(noisy.result.values == plain.result.values);
    const DeconvolveReport seen = result_of(100, 3, {}).report;
    REQUIRE(seen.has_gain);
    CHECK(seen.photons.offset == Approx(100 - 9 / seen.photons.gain));
    DeconvolveOptions options;
    options.read_noise = 3;
    CHECK_THROWS_AS(deconvolved(image, psf, options, cpu_only()), InvalidArgument);
}

TEST_CASE(
    "deconvolve: the two halves of an image have independent noise, each that of half the "
    "photons") {
    Random random(test_seed("halves"));
    const Shape3 shape{4, 120, 120};
    constexpr double light = 9, gain = 0.5, offset = 100;
    Array image(shape);
    for (Complex& value : image.values) value = poisson(random, light) / gain + offset;
    image(1, 2, 3) = 5000;
    image(1, 2, 4) = -7;
    const Volume pixels = to_volume(image, PixelType::float32);
    const deconvolve::PhotonHalves divided =
        deconvolve::divide_photons(pixels.view(), {gain, offset}, {4000}, 2);
    CHECK(divided.photons.gain == gain / 2);
    const float* const a = divided.halves[0].elements<float>();
    const float* const b = divided.halves[1].elements<float>();
    const auto count = static_cast<double>(element_count(shape));
    Moments first;
    double covariance = 0;
    const double mean = light / gain + offset;
    for (index_t i = 0; i < element_count(shape); ++i) {
        const auto value = std::max(0.0F, pixels.elements<float>()[i]);
        if (value > 4000) {
            CHECK(a[i] == deconvolve::encoded_bound(4000));
            CHECK(b[i] == a[i]);
            continue;
        }
        if (std::abs(a[i] + b[i] - 2 * value) > 1e-3F) FAIL("photons were lost");
        if (value == 0) continue;
        first.mean += a[i] / count;
        first.variance += std::pow(a[i] - mean, 2) / count;
        covariance += (a[i] - mean) * (b[i] - mean) / count;
    }
    // Twice a half has twice the variance of the whole; the bounds are five standard deviations.
    const double variance = 2 * light / gain / gain;
    CHECK(std::abs(first.mean - mean) < 5 * std::sqrt(variance / count));
    CHECK(std::abs(first.variance / variance - 1) < 5 * std::sqrt(2.3 / count));
    CHECK(std::abs(covariance) < 5 * variance / std::sqrt(count));
}

namespace {

// Checks the background of lines of a width under haze that covers the whole image.
void check_haze(index_t width, double brightness) {
    Random random(test_seed("haze"));
    const Shape3 shape{1, 256, 256}, taps{1, 61, 61};
    Array psf = gaussian_psf(taps, {0, 30, 30}, {1, 1.5, 1.5});
    const Array haze = gaussian_psf(taps, {0, 30, 30}, {1, 16, 16});
    const auto normalize = [](const Array& array) {
        double sum = 0;
        for (const Complex& value : array.values) sum += value.real();
        return 1 / sum;
    };
    const double narrow = 0.4 * normalize(psf), wide = 0.6 * normalize(haze);
    for (std::size_t i = 0; i < psf.values.size(); ++i)
        psf.values[i] = narrow * psf.values[i] + wide * haze.values[i];
    Array object({1, shape.y + 60, shape.x + 60});
    for (index_t line = 0; line < 12; ++line) {
        const index_t at = 56 * (line / 2) + random.integer(0, 4);
        for (index_t i = 0; i < object.shape.y; ++i)
            for (index_t w = 0; w < width; ++w)
                (line % 2 == 0 ? object(0, i, at + w) : object(0, at + w, i)) += brightness;
    }
    Definition valid;
    valid.mode = Mode::valid;
    valid.center = {0, 30, 30};
    Array image = oracle_convolve(object, psf, valid);
    REQUIRE(image.shape == shape);
    double light = 0, least = 1e9;
    for (Complex& value : image.values) {
        light += value.real() / static_cast<double>(image.values.size());
        least = std::min(least, value.real());
        value = 100 + poisson(random, value.real() + 20);
    }
    REQUIRE(least > 0.15 * light);  // no region is dark
    DeconvolveOptions options;
    options.iterations = 1;
    const DeconvolveReport report = deconvolved(image, psf, options, cpu_only()).report;
    INFO("background " << report.background << ", offset " << report.photons.offset << ", light "
                       << light << ", least " << least);
    CHECK(std::abs(report.background - 120) < 0.15 * light);
    REQUIRE(report.background_error);
    CHECK(std::abs(report.background - 120) < 2 * *report.background_error);
    CHECK(report.light == Approx(light + 120 - report.background).epsilon(0.01));
}

}  // namespace

TEST_CASE("deconvolve: the background is found under haze that covers the whole image", "[long]") {
    SECTION("as bright as the specimen") {
        check_haze(8, 400);
    }
    SECTION("much darker than the specimen") {
        check_haze(1, 3000);
    }
}

TEST_CASE("deconvolve: the background of a few photons is their mean") {
    Random random(test_seed("dim background"));
    Volume pixels({1, 256, 256}, PixelType::float32);
    for (index_t i = 0; i < element_count(pixels.shape()); ++i)
        pixels.elements<float>()[i] = static_cast<float>(poisson(random, 2.5));
    const double level = deconvolve::find_background(pixels.view()).level;
    INFO("background " << level);
    CHECK(std::abs(level - 2.5) < 0.2);  // the most frequent value is 2
}

TEST_CASE("deconvolve: the rounding of photons to coarse values counts as noise") {
    Random random(test_seed("rounding"));
    const Shape3 shape{8, 64, 64};
    const Array psf = gaussian_psf({1, 9, 9}, {0, 4, 4}, {1, 1.5, 1.5});
    const auto offset_of = [&](double gain, bool rounds) {
        Array image = recording(random, shape, gain, 0);
        for (auto& value : image.values)
            if (rounds) value = std::round(value.real());
        DeconvolveOptions options;
        options.gain = gain;
        options.hold_out = true;
        options.iterations = 1;
        return deconvolved(image, psf, options).report.photons.offset;
    };
    // A value of 4 photons is any of 4 numbers of photons: their variance is 15 / 12.
    CHECK(offset_of(4, true) == Approx(-15.0 / 12 / 4));
    CHECK(offset_of(4, false) == 0);
    CHECK(offset_of(1, true) == 0);
}

TEST_CASE("deconvolve: held-out photons find the number of iterations", "[long]") {
    check_held_out(cpu_only());
}

TEST_CASE("deconvolve: a search of a single plane begins with a reference of fewer iterations") {
    Random random(test_seed("search of a plane"));
    for (const Shape3& shape : {Shape3{1, 64, 64}, Shape3{4, 64, 64}}) {
        const Array psf = gaussian_psf({1, 9, 9}, {0, 4, 4}, {1, 1.5, 1.5});
        const Volume image = to_volume(recording(random, shape, 1, 0), PixelType::float32);
        DeconvolveOptions options;
        options.background = 2;
        options.iterations = 200;
        options.hold_out = true;
        options.coarse_start = 0;
        const Deconvolver deconvolver(shape, to_volume(psf, PixelType::float32).view(), options,
                                      cpu_only());
        int first = 0;
        DeconvolveRun run;
        run.reads_every = 0;
        run.on_iteration = [&](const Iteration& iteration, const EstimateReader&) {
            if (first == 0) first = iteration.of;
        };
        Volume result(shape, PixelType::float32);
        const DeconvolveReport report = deconvolver.execute(image.view(), result.view(), run);
        CHECK(first == (shape.z == 1 ? 25 : 80));
        CHECK(report.searched > first);
        CHECK(report.iterations <= 200);
    }
}
